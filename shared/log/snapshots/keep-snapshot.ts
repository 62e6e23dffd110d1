import { withDeadline } from '../../lang/async.ts';
import { sum } from '../../lang/numbers.ts';
import type { ReadUpTo } from './read-so-far.ts';
import type { SnapshotKind, Snapshots } from './snapshots.ts';

type Options<State> = {
  readonly snapshots: Snapshots;
  readonly kind: SnapshotKind<State>;
  /** How far the stored state goes from which the view was opened. */
  readonly stored: ReadUpTo | undefined;
  /** As of now; it fits `state`. */
  readonly upTo: () => ReadUpTo;
  /** Undefined: the state holds facts that are not in the log yet. */
  readonly state: () => State | undefined;
  /** While the view reads the past, its state is stored more often: a start that is broken off goes on there. */
  readonly isCaughtUp: () => boolean;
  /** Records since the last one that make a new one worth it. */
  readonly records?: number;
  /** ms for the last one; a large state takes longer */
  readonly closeMs?: number;
  readonly onFailure: (error: unknown) => void;
};

/** ms between two looks, and at least between two snapshots of a view that is behind, and of one that is caught up */
const LOOK_MS = 1_000;
const BEHIND_MS = 10_000;
const CAUGHT_UP_MS = 60_000;
/** ms after which few new records are worth a snapshot too */
const LONG_MS = 600_000;
/** ms for the last one: a log that hangs must not keep the process from ending */
const CLOSE_LIMIT_MS = 500;

/** Stores the state of a view from time to time, and at the end. */
export function keepSnapshot<State>(options: Options<State>): { readonly close: () => Promise<void> } {
  const {
    snapshots,
    kind,
    upTo,
    state,
    isCaughtUp,
    records = 5_000,
    closeMs = CLOSE_LIMIT_MS,
    onFailure,
  } = options;
  let stored = { count: countOf(options.stored ?? {}), at: performance.now() };
  let saving: Promise<void> = Promise.resolve();
  let isSaving = false;

  const save = async (): Promise<void> => {
    const taken = state();
    if (taken === undefined) return;
    const next = { count: countOf(upTo()), at: performance.now() };
    isSaving = true;
    try {
      if (await snapshots.save(kind, { upTo: upTo(), state: taken })) stored = next;
      else stored = { ...stored, at: next.at };
    } catch (error) {
      stored = { ...stored, at: next.at };
      onFailure(error);
    } finally {
      isSaving = false;
    }
  };
  const look = (): void => {
    const ms = performance.now() - stored.at;
    const isDue = isSnapshotDue(
      { ms, records: countOf(upTo()) - stored.count, isCaughtUp: isCaughtUp() },
      records,
    );
    if (isDue && !isSaving) saving = save();
  };
  const timer = setInterval(look, LOOK_MS).unref();
  return {
    close: () => {
      clearInterval(timer);
      const last = async (): Promise<void> => {
        await saving;
        if (countOf(upTo()) > stored.count) await save();
      };
      return withDeadline(last(), closeMs, () => {});
    },
  };
}

type Since = { readonly ms: number; readonly records: number; readonly isCaughtUp: boolean };

/** @param worth records that make a snapshot worth it soon */
export const isSnapshotDue = ({ ms, records, isCaughtUp }: Since, worth: number): boolean =>
  records >= worth ? ms >= (isCaughtUp ? CAUGHT_UP_MS : BEHIND_MS) : records > 0 && ms >= LONG_MS;

const countOf = (upTo: ReadUpTo): number => sum(Object.values(upTo).flat());
