import { createRandom } from '../../shared/policy/model/random.ts';
import { monotonicNow } from '../../shared/runtime/clock.ts';
import type { SessionClient, StartedSession } from '../api-client.ts';
import type { Agent, RewardFunction } from './contract.ts';
import { type Failure, type FailureKind, failed, failures } from './failures.ts';
import { persist } from './persist.ts';
import type { Task } from './read-tasks.ts';
import type { StartGate } from './start-gate.ts';
import { type Strays, withLimit } from './with-limit.ts';

export type Attempt = {
  readonly task: Task;
  /** index of the task, in the order of the data */
  readonly index: number;
  /** 0 to n - 1 */
  readonly attempt: number;
  /** place in the order of all attempts */
  readonly rank: number;
};

/** A rewarded attempt; its session is open. */
type Rewarded = {
  readonly kind: 'rewarded';
  readonly session: StartedSession;
  readonly reward: number;
  readonly result: unknown;
  /** the rewarded interaction */
  readonly interaction: string;
};

/** A failed attempt; its session, if any, is discarded. */
type Failed = Failure & { readonly kind: 'failed'; readonly session: string | undefined };

export type AttemptOutcome = (Rewarded | Failed) & {
  /** failures of the tries before the last one */
  readonly earlier: readonly FailureKind[];
  readonly ms: number;
};

export type AttemptDeps = {
  readonly client: Pick<SessionClient, 'reward' | 'end'>;
  readonly gate: StartGate;
  readonly agent: Agent;
  readonly reward: RewardFunction;
  readonly baseUrl: string;
  readonly seed: number;
  /** retries of a failed attempt */
  readonly retries: number;
  readonly timeoutMs: number;
  readonly rewardTimeoutMs: number;
  readonly stop: AbortSignal;
  readonly strays: Strays;
  /** attempts whose agent or reward function is running */
  readonly working: { count: number };
};

/** Runs an attempt up to its reward. A failed attempt is retried in a new session. */
export async function runAttempt(attempt: Attempt, deps: AttemptDeps): Promise<AttemptOutcome> {
  const began = monotonicNow();
  const earlier: FailureKind[] = [];
  let previous: StartedSession | undefined;
  for (;;) {
    const last = previous;
    const session = await deps.gate.start({
      rank: attempt.rank,
      task: attempt.task.name,
      release: last && (() => discard(deps, last)),
    });
    if ('failure' in session)
      return { kind: 'failed', ...session, session: undefined, earlier, ms: monotonicNow() - began };
    deps.working.count++;
    const outcome = await work(attempt, session, deps).finally(() => deps.working.count--);
    if (!('failure' in outcome))
      return { kind: 'rewarded', session, ...outcome, earlier, ms: monotonicNow() - began };
    const isLast = earlier.length >= deps.retries || !failures[outcome.failure].isRetried;
    if (isLast || deps.stop.aborted) {
      await discard(deps, session);
      return {
        kind: 'failed',
        ...outcome,
        session: session.session,
        earlier,
        ms: monotonicNow() - began,
      };
    }
    earlier.push(outcome.failure);
    previous = session;
  }
}

/** Ends a session so that it does not train. If that fails, it ends when idle, without a reward. */
export const discard = async (
  { client, stop }: Pick<AttemptDeps, 'client' | 'stop'>,
  { key }: StartedSession,
): Promise<void> => void (await persist(() => client.end(key, { discard: true }), stop));

type Scored = Pick<Rewarded, 'reward' | 'result' | 'interaction'>;

async function work(
  { task, index, attempt }: Attempt,
  { session, key }: StartedSession,
  deps: AttemptDeps,
): Promise<Scored | Failure> {
  const seed = Math.floor(createRandom(`rollout/${deps.seed}/${index}/${attempt}`)() * 2 ** 31);
  const input = { task: task.data, baseUrl: deps.baseUrl, apiKey: key, session, attempt, seed };
  const done = await withLimit(
    (signal) => deps.agent({ ...input, signal }),
    deps.timeoutMs,
    deps.stop,
    deps.strays,
  );
  switch (done.kind) {
    case 'interrupted':
      return failed('interrupted', 'stopped while the agent was running');
    case 'timed-out':
      return failed('agent-timed-out', `not finished after ${deps.timeoutMs / 1000} s`);
    case 'threw':
      return failed('agent-threw', done.error);
    case 'value': {
      const reward = await score({ task: task.data, result: done.value, session, attempt }, deps);
      return typeof reward === 'number' ? setReward(deps, key, reward, done.value) : reward;
    }
  }
}

/** A reward function that throws or times out is retried with the same result. */
async function score(
  input: Omit<Parameters<RewardFunction>[0], 'signal'>,
  deps: AttemptDeps,
): Promise<number | Failure> {
  for (let tries = 0; ; tries++) {
    const scored = await withLimit(
      (signal) => deps.reward({ ...input, signal }),
      deps.rewardTimeoutMs,
      deps.stop,
      deps.strays,
    );
    switch (scored.kind) {
      case 'interrupted':
        return failed('interrupted', 'stopped while the reward function was running');
      case 'timed-out':
        if (tries < deps.retries) continue;
        return failed('reward-timed-out', `not finished after ${deps.rewardTimeoutMs / 1000} s`);
      case 'threw':
        if (tries < deps.retries) continue;
        return failed('reward-threw', scored.error);
      case 'value':
        return checkReward(scored.value);
    }
  }
}

/** Checks the value of a reward function, whose module may be untyped. */
function checkReward(value: unknown): number | Failure {
  if (typeof value !== 'number' || !Number.isFinite(value)) {
    const shown = typeof value === 'number' ? String(value) : (JSON.stringify(value) ?? String(value));
    return failed('reward-not-a-number', `returned ${shown.slice(0, 200)}`);
  }
  return Math.abs(value) <= 1 ? value : failed('reward-out-of-range', `returned ${value}`);
}

/** Sends the reward before the other attempts finish, so that it survives the end of this process. */
async function setReward(
  { client, stop }: AttemptDeps,
  key: string,
  reward: number,
  result: unknown,
): Promise<Scored | Failure> {
  const answer = await persist(() => client.reward(key, { reward }), stop);
  if (answer.kind === 'answer') return { reward, result, interaction: answer.value };
  if (answer.kind === 'silent') return failed('server-silent', answer.reason);
  if (answer.status === 410) return failed('session-ended', answer.message);
  if (answer.code === 'nothing_to_reward') return failed('no-interaction', answer.message);
  return failed('reward-refused', answer.message);
}
