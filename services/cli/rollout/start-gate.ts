import { setTimeout as delay } from 'node:timers/promises';
import { monotonicNow } from '../../../shared/service/clock.ts';
import { UsageError } from '../command.ts';
import type { SessionClient, StartedSession } from '../rl-client.ts';
import { type Failure, failed } from './failures.ts';

/** s; between two tries where the server does not tell */
const UNTOLD_WAIT = 1;
const LONGEST_WAIT = 30;

export type Start = {
  /** the lowest goes first */
  readonly rank: number;
  readonly task: string;
  /** Takes back the session of the try before, so that nobody else gets its place in between. */
  readonly release?: (() => Promise<void>) | undefined;
};

export type StartGate = {
  readonly start: (start: Start) => Promise<StartedSession | Failure>;
  /** How often the server said that it had no room, and ms that were waited. */
  readonly waits: () => { readonly count: number; readonly ms: number };
};

type Waiting = Omit<Start, 'release'> & {
  readonly release: () => Promise<void>;
  readonly resolve: (outcome: StartedSession | Failure) => void;
};

/**
 * Opens the sessions of a rollout one after the other, those of the earliest task first: attempts of a later
 * task would hold the room that the earlier one needs to become whole, and neither would. No room (429) is
 * waited for as the server says, and is no failure until nothing moved for `roomTimeoutMs`.
 *
 * @param isBusy whether attempts of this rollout run, which make room when they end
 * @throws UsageError (by `onRefused`) for what every other start would meet too: a wrong key, say
 */
export function createStartGate(
  client: Pick<SessionClient, 'start'>,
  options: {
    /** of whose adapter the sessions are; the one of the access key unless told */
    readonly model?: string | undefined;
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
  /** Undefined: it has to wait. */
  const tryFirst = async ({ task, release }: Waiting): Promise<StartedSession | Failure | undefined> => {
    await release();
    if (options.stop.aborted) return failed('interrupted', 'stopped before it began');
    const answer = await client.start(task, { model: options.model });
    if (answer.kind === 'answer') return answer.value;
    if (options.stop.aborted) return failed('interrupted', 'stopped while it began');
    const isFull = answer.kind === 'refused' && (answer.status === 429 || answer.status === 503);
    if (answer.kind === 'refused' && !isFull) {
      options.onRefused(new UsageError(`no session can be started: ${answer.message}`));
      return failed('interrupted', answer.message);
    }
    if (options.isBusy()) movedAt = monotonicNow();
    if (monotonicNow() - movedAt > options.roomTimeoutMs) {
      movedAt = monotonicNow();
      return answer.kind === 'silent'
        ? failed('server-silent', answer.reason)
        : failed('no-room', answer.message);
    }
    const waited = await pause(answer.kind === 'refused' ? (answer.retryAfter ?? UNTOLD_WAIT) : UNTOLD_WAIT);
    if (answer.kind === 'silent') return undefined;
    count++;
    ms += waited;
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
