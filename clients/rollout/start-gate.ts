import { setTimeout as delay } from 'node:timers/promises';
import { monotonicNow } from '../../shared/runtime/clock.ts';
import { UsageError } from '../../shared/runtime/command-errors.ts';
import type { SessionClient, SessionTerms, StartedSession } from '../api-client.ts';
import { type Failure, failed, interrupted } from './failures.ts';

/** s between two tries, unless the server says otherwise */
const DEFAULT_WAIT = 1;
const LONGEST_WAIT = 30;

type Start = {
  /** lower ranks start first */
  readonly rank: number;
  readonly task: string;
  /** Discards the session of the previous attempt just before the start, so that no other session takes its place. */
  readonly release?: (() => Promise<void>) | undefined;
};

export type StartGate = {
  readonly start: (start: Start) => Promise<StartedSession | Failure>;
  /** How often the server had no room, and the ms waited for it. */
  readonly waits: () => { readonly count: number; readonly ms: number };
};

type Waiting = Omit<Start, 'release'> & {
  readonly release: () => Promise<void>;
  readonly resolve: (outcome: StartedSession | Failure) => void;
};

/**
 * Opens the sessions of a rollout one at a time, in the order of tasks: otherwise attempts of a later task take
 * the room that an earlier task needs, and neither finishes. When there is no room (429), it waits as the server
 * says; that is a failure only after `roomTimeoutMs` without progress. For a silent server it waits until `stop`.
 *
 * @param isBusy whether attempts of this rollout are running, which make room when they end
 * @throws UsageError (by `onRefused`) for refusals that every other start would meet too, such as a wrong key
 */
export function createStartGate(
  client: Pick<SessionClient, 'start'>,
  options: {
    /** selects the adapter of the sessions; default: the access key's */
    readonly model?: string | undefined;
    readonly terms?: SessionTerms | undefined;
    readonly roomTimeoutMs: number;
    readonly isBusy: () => boolean;
    readonly onRefused: (error: UsageError) => void;
    readonly stop: AbortSignal;
  },
): StartGate {
  const waiting: Waiting[] = [];
  let isOpening = false;
  let [count, ms] = [0, 0];
  let movedAt = monotonicNow();

  const pause = async (seconds: number): Promise<number> => {
    const before = monotonicNow();
    await delay(Math.min(seconds, LONGEST_WAIT) * 1000, undefined, { signal: options.stop }).catch(() => {});
    return monotonicNow() - before;
  };
  /** Undefined: no room yet. */
  const tryFirst = async ({ task, release }: Waiting): Promise<StartedSession | Failure | undefined> => {
    await release();
    if (options.stop.aborted) return interrupted(options.stop, 'stopped before it started');
    const answer = await client.start(task, { model: options.model, ...options.terms });
    if (answer.kind === 'answer') return answer.value;
    if (options.stop.aborted) return interrupted(options.stop, 'stopped while it was starting');
    if (answer.kind === 'silent') {
      await pause(DEFAULT_WAIT);
      movedAt = monotonicNow(); // a server that starts again gets the whole time to make room
      return undefined;
    }
    if (answer.status !== 429) {
      options.onRefused(new UsageError(`cannot start a session: ${answer.message}`));
      return failed('interrupted', answer.message);
    }
    if (options.isBusy()) movedAt = monotonicNow();
    if (monotonicNow() - movedAt > options.roomTimeoutMs) {
      movedAt = monotonicNow();
      return failed('no-room', answer.message);
    }
    count++;
    ms += await pause(answer.retryAfter ?? DEFAULT_WAIT);
    return undefined;
  };
  const open = async (): Promise<void> => {
    if (isOpening) return;
    isOpening = true;
    movedAt = monotonicNow();
    while (waiting.length > 0) {
      waiting.sort((a, b) => a.rank - b.rank);
      const first = waiting[0]!;
      const outcome = await tryFirst(first);
      if (outcome === undefined) continue;
      if (!('failure' in outcome)) movedAt = monotonicNow();
      waiting.splice(waiting.indexOf(first), 1);
      first.resolve(outcome);
    }
    isOpening = false;
  };
  return {
    start: (start) => {
      let released: Promise<void> | undefined;
      const release = () => (released ??= start.release?.() ?? Promise.resolve());
      return new Promise((resolve) => {
        waiting.push({ ...start, release, resolve });
        void open();
      });
    },
    waits: () => ({ count, ms }),
  };
}
