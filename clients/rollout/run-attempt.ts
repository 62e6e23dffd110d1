import { createRandom } from '../../shared/policy/model/random.ts';
import { monotonicNow } from '../../shared/runtime/clock.ts';
import type { UsageError } from '../../shared/runtime/command-errors.ts';
import type { Answer, EndedSession, SessionClient, StartedSession } from '../api-client.ts';
import type { EnvironmentDriver, Evaluation } from '../environments/environment.ts';
import type { ShownState } from './compare-steps.ts';
import type { Agent, RewardFunction } from './contract.ts';
import { openEnvironment, type WatchedEnvironment } from './environment-attempt.ts';
import { type Failure, type FailureKind, failed, failures, interrupted } from './failures.ts';
import { type AttemptLease, type Leasing, takeLease } from './lease.ts';
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
  /** states that its environment showed and named, in order */
  readonly states: readonly ShownState[];
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
  /** called with each session that was opened */
  readonly onSession?: (session: string) => void;
  readonly agent: Agent;
  /** undefined: the environment's own rating is the reward */
  readonly reward: RewardFunction | undefined;
  /** opens an environment for each try; undefined: the agent has none */
  readonly environments?: EnvironmentDriver | undefined;
  /** records the events of environments; required if there are environments */
  readonly leasing?: Leasing | undefined;
  /** environments that attempts use */
  readonly inUse: { count: number };
  /** ms to wait for an environment that is full or not ready */
  readonly roomTimeoutMs: number;
  /** stops the rollout: no attempt can work in these environments */
  readonly onRefused: (error: UsageError) => void;
  /** whether an attempt that timed out is rated as it stands; it needs an environment */
  readonly timeoutCounts?: boolean;
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
      release: last && (async () => void (await discard(deps, last))),
    });
    if ('failure' in session)
      return { kind: 'failed', ...session, session: undefined, earlier, ms: monotonicNow() - began };
    deps.onSession?.(session.session);
    deps.working.count++;
    const outcome = await work(attempt, session, deps).finally(() => deps.working.count--);
    if (!('failure' in outcome))
      return { kind: 'rewarded', session, ...outcome, earlier, ms: monotonicNow() - began };
    const isLast = earlier.length >= deps.retries || !failures[outcome.failure].isRetried;
    if (isLast || deps.stop.aborted) {
      const discarded = await discard(deps, session);
      return {
        kind: 'failed',
        ...(discarded.kind === 'silent' ? withoutServer(outcome, discarded.reason) : outcome),
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
): Promise<Answer<EndedSession>> => persist(() => client.end(key, { discard: true }), stop);

/** Without a server every agent fails, so the failure is not the agent's. */
const withoutServer = (outcome: Failure, reason: string): Failure =>
  outcome.failure === 'interrupted'
    ? outcome
    : failed('server-silent', `${reason}; ${outcome.failure}: ${outcome.error}`);

type Scored = Pick<Rewarded, 'reward' | 'result' | 'interaction' | 'states'>;

/** One try: opens its environment, runs the agent, and sends the reward. */
async function work(attempt: Attempt, session: StartedSession, deps: AttemptDeps): Promise<Scored | Failure> {
  const { environments, leasing, stop } = deps;
  if (environments === undefined) return workIn(undefined, attempt, session, deps);
  const leased = { session: session.session, task: attempt.task, attempt: attempt.attempt };
  const lease = await takeLease(leasing!, leased, stop);
  if ('failure' in lease) return lease;
  try {
    const outcome = await workLeased(environments, lease, attempt, { session, deps });
    if ('failure' in outcome) lease.failed(outcome);
    return outcome;
  } finally {
    await lease.release();
  }
}

async function workLeased(
  environments: EnvironmentDriver,
  lease: AttemptLease,
  attempt: Attempt,
  { session, deps }: { readonly session: StartedSession; readonly deps: AttemptDeps },
): Promise<Scored | Failure> {
  const opened = await openEnvironment(environments, attempt.task.data, {
    session: session.session,
    lease,
    seed: seedOf(`rollout/${deps.seed}/${attempt.index}`),
    patienceMs: deps.roomTimeoutMs,
    stop: deps.stop,
    isBusy: () => deps.inUse.count > 0,
    onRefused: deps.onRefused,
  });
  if (!('environment' in opened)) return opened;
  deps.inUse.count++;
  try {
    return await workIn(opened, attempt, session, deps);
  } finally {
    await opened.environment.close();
    deps.inUse.count--;
  }
}

/** A seed for APIs, from 0 to 2^31 - 1. */
const seedOf = (name: string): number => Math.floor(createRandom(name)() * 2 ** 31);

async function workIn(
  watched: WatchedEnvironment | undefined,
  { task, index, attempt }: Attempt,
  { session, key }: StartedSession,
  deps: AttemptDeps,
): Promise<Scored | Failure> {
  const environment = watched?.environment;
  const seed = seedOf(`rollout/${deps.seed}/${index}/${attempt}`);
  const input = { task: task.data, baseUrl: deps.baseUrl, apiKey: key, session, attempt, seed, environment };
  const limitMs = Math.min(deps.timeoutMs, environment?.agentLimitMs ?? Number.POSITIVE_INFINITY);
  const done = await withLimit((signal) => deps.agent({ ...input, signal }), limitMs, deps.stop, deps.strays);
  const rate = async (result: unknown): Promise<Scored | Failure> => {
    const reward = await score({ task: task.data, result, session, attempt }, watched, deps);
    if (typeof reward !== 'number') return reward;
    return setReward(deps, key, { reward, result, states: watched?.states() ?? [] });
  };
  if (done.kind === 'interrupted') return interrupted(deps.stop, 'stopped while the agent was running');
  const lost = watched?.failure();
  if (lost !== undefined) return lost;
  switch (done.kind) {
    case 'timed-out':
      if (deps.timeoutCounts) return rate({ ended: 'timeout' });
      return failed('agent-timed-out', `not finished after ${limitMs / 1000} s`);
    case 'threw':
      return failed('agent-threw', done.error);
    case 'value':
      return rate(done.value);
  }
}

type Result = Omit<Parameters<RewardFunction>[0], 'signal' | 'evaluation'>;

/** The environment's rating, or the result of the reward function. */
async function score(
  result: Result,
  watched: WatchedEnvironment | undefined,
  deps: AttemptDeps,
): Promise<number | Failure> {
  let evaluation: Evaluation | undefined;
  if (watched !== undefined) {
    const { environment } = watched;
    const rewardTimeoutMs = Math.max(deps.rewardTimeoutMs, environment.evaluateLimitMs ?? 0);
    const evaluated = await patiently((signal) => environment.evaluate(signal), 'evaluation-failed', {
      ...deps,
      rewardTimeoutMs,
    });
    if ('failure' in evaluated) return deps.stop.aborted ? evaluated : (watched.failure() ?? evaluated);
    evaluation = evaluated.value;
  }
  const { reward } = deps;
  if (reward === undefined) return checkReward(evaluation?.reward);
  const rated = await patiently((signal) => reward({ ...result, evaluation, signal }), 'reward-threw', deps);
  return 'failure' in rated ? rated : checkReward(rated.value);
}

/** A rating that throws or times out is repeated for the same result. */
async function patiently<Value>(
  rate: (signal: AbortSignal) => Promise<Value> | Value,
  thrown: 'reward-threw' | 'evaluation-failed',
  deps: AttemptDeps,
): Promise<{ readonly value: Value } | Failure> {
  for (let tries = 0; ; tries++) {
    const rated = await withLimit(rate, deps.rewardTimeoutMs, deps.stop, deps.strays);
    switch (rated.kind) {
      case 'interrupted':
        return interrupted(deps.stop, 'stopped while the attempt was rated');
      case 'timed-out':
        if (tries < deps.retries) continue;
        return failed(
          thrown === 'reward-threw' ? 'reward-timed-out' : thrown,
          `not finished after ${deps.rewardTimeoutMs / 1000} s`,
        );
      case 'threw':
        if (tries < deps.retries) continue;
        return failed(thrown, rated.error);
      case 'value':
        return { value: rated.value };
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
  scored: Omit<Scored, 'interaction'>,
): Promise<Scored | Failure> {
  const answer = await persist(() => client.reward(key, { reward: scored.reward }), stop);
  if (answer.kind === 'answer') return { ...scored, interaction: answer.value };
  if (answer.kind === 'silent') return failed('server-silent', answer.reason);
  if (answer.status === 410) return failed('session-ended', answer.message);
  if (answer.code === 'nothing_to_reward') return failed('no-interaction', answer.message);
  return failed('reward-refused', answer.message);
}
