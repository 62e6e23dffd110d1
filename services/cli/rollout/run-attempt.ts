import { createRandom } from '../../../shared/policy/random.ts';
import { monotonicNow } from '../../../shared/service/clock.ts';
import type { SessionClient, StartedSession } from '../rl-client.ts';
import type { Agent, RewardFunction } from './contract.ts';
import { type Failure, type FailureKind, failed, failures } from './failures.ts';
import { persist } from './persist.ts';
import type { Task } from './read-tasks.ts';
import type { StartGate } from './start-gate.ts';
import { type Strays, withLimit } from './with-limit.ts';

export type Attempt = {
  readonly task: Task;
  /** of the task, from 0, in the order of the data */
  readonly index: number;
  /** 0 to n - 1 */
  readonly attempt: number;
  /** place in the order of all attempts */
  readonly rank: number;
};

/** Its session is open, and its reward is set. */
export type Rewarded = {
  readonly kind: 'rewarded';
  readonly session: StartedSession;
  readonly reward: number;
  readonly result: unknown;
  /** the interaction that the reward went to */
  readonly interaction: string;
};

/** Its session, if it had one, is ended and trains nobody. */
export type Failed = Failure & { readonly kind: 'failed'; readonly session: string | undefined };

export type AttemptOutcome = (Rewarded | Failed) & {
  /** failures of the tries before the last one */
  readonly earlier: readonly FailureKind[];
  readonly ms: number;
};

export type AttemptWorld = {
  readonly client: Pick<SessionClient, 'reward' | 'end'>;
  readonly gate: StartGate;
  readonly agent: Agent;
  readonly reward: RewardFunction;
  readonly baseUrl: string;
  readonly seed: number;
  /** further tries of one that failed */
  readonly retries: number;
  readonly timeoutMs: number;
  readonly rewardTimeoutMs: number;
  readonly stop: AbortSignal;
  readonly strays: Strays;
  /** attempts whose agent or reward runs now */
  readonly working: { count: number };
};

/** Runs one attempt to its reward; one that failed is tried again in a session of its own. */
export async function runAttempt(attempt: Attempt, world: AttemptWorld): Promise<AttemptOutcome> {
  const began = monotonicNow();
  const earlier: FailureKind[] = [];
  let before: StartedSession | undefined;
  for (;;) {
    const last = before;
    const session = await world.gate.start({
      rank: attempt.rank,
      task: attempt.task.name,
      release: last && (() => discard(world, last)),
    });
    if ('failure' in session)
      return { kind: 'failed', ...session, session: undefined, earlier, ms: monotonicNow() - began };
    world.working.count++;
    const outcome = await work(attempt, session, world).finally(() => world.working.count--);
    if (!('failure' in outcome))
      return { kind: 'rewarded', session, ...outcome, earlier, ms: monotonicNow() - began };
    const isLast = earlier.length >= world.retries || !failures[outcome.failure].again;
    if (isLast || world.stop.aborted) {
      await discard(world, session);
      return {
        kind: 'failed',
        ...outcome,
        session: session.session,
        earlier,
        ms: monotonicNow() - began,
      };
    }
    earlier.push(outcome.failure);
    before = session;
  }
}

/** Ends a session so that it trains nobody. One that cannot be ended ends by itself, and unrewarded. */
export const discard = async (
  { client, stop }: Pick<AttemptWorld, 'client' | 'stop'>,
  { key }: StartedSession,
): Promise<void> => void (await persist(() => client.end(key, { discard: true }), stop));

type Scored = Pick<Rewarded, 'reward' | 'result' | 'interaction'>;

async function work(
  { task, index, attempt }: Attempt,
  { session, key }: StartedSession,
  world: AttemptWorld,
): Promise<Scored | Failure> {
  const seed = Math.floor(createRandom(`rollout/${world.seed}/${index}/${attempt}`)() * 2 ** 31);
  const input = { task: task.data, baseUrl: world.baseUrl, apiKey: key, session, attempt, seed };
  const done = await withLimit(
    (signal) => world.agent({ ...input, signal }),
    world.timeoutMs,
    world.stop,
    world.strays,
  );
  switch (done.kind) {
    case 'interrupted':
      return failed('interrupted', 'stopped while the agent worked');
    case 'timed-out':
      return failed('agent-timed-out', `not done after ${world.timeoutMs / 1000} s`);
    case 'threw':
      return failed('agent-threw', done.error);
    case 'value': {
      const reward = await score({ task: task.data, result: done.value, session, attempt }, world);
      return typeof reward === 'number' ? setReward(world, key, reward, done.value) : reward;
    }
  }
}

/** A reward function that threw or was slow is asked again about the same result. */
async function score(
  input: Omit<Parameters<RewardFunction>[0], 'signal'>,
  world: AttemptWorld,
): Promise<number | Failure> {
  for (let tries = 0; ; tries++) {
    const scored = await withLimit(
      (signal) => world.reward({ ...input, signal }),
      world.rewardTimeoutMs,
      world.stop,
      world.strays,
    );
    switch (scored.kind) {
      case 'interrupted':
        return failed('interrupted', 'stopped while it was scored');
      case 'timed-out':
        if (tries < world.retries) continue;
        return failed('reward-timed-out', `not done after ${world.rewardTimeoutMs / 1000} s`);
      case 'threw':
        if (tries < world.retries) continue;
        return failed('reward-threw', scored.error);
      case 'value':
        return checkReward(scored.value);
    }
  }
}

/** What a reward function returned: it may be of a module that no types were checked in. */
export function checkReward(value: unknown): number | Failure {
  if (typeof value !== 'number' || !Number.isFinite(value)) {
    const shown = typeof value === 'number' ? String(value) : (JSON.stringify(value) ?? String(value));
    return failed('reward-not-a-number', `returned ${shown.slice(0, 200)}`);
  }
  return Math.abs(value) <= 1 ? value : failed('reward-out-of-range', `returned ${value}`);
}

/** At once, before the other attempts are done: a reward that the server has is not lost with this process. */
async function setReward(
  { client, stop }: AttemptWorld,
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
