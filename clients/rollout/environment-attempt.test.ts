import { expect, test } from 'vitest';
import { UsageError } from '../../shared/runtime/command-errors.ts';
import type { EnvironmentDriver, OpenEnvironment } from '../environments/environment.ts';
import { environmentFailure, environmentFull } from '../environments/environment-failure.ts';
import type { Agent } from './contract.ts';
import { formatSummary } from './summary.ts';
import { createProtocolDouble } from './testing/protocol-server.ts';
import { kindsOf, roll } from './testing/roll.ts';

const signal = new AbortController().signal;

/** Environments in memory that rate an attempt 0.5; `change` alters the one with this number, from 0. */
function environments(change: (number: number) => Partial<OpenEnvironment>) {
  const [opened, closed, seeds]: [{ count: number }, { count: number }, Set<number>] = [
    { count: 0 },
    { count: 0 },
    new Set(),
  ];
  const driver: EnvironmentDriver = {
    tasks: async () => [],
    open: async (_, { seed }) => {
      seeds.add(seed);
      const number = opened.count++;
      return {
        messages: [],
        tools: [],
        takesText: true,
        act: async () => ({ content: 'seen', isError: false, isDone: false }),
        evaluate: async () => ({ reward: 0.5, detail: {} }),
        close: async () => void closed.count++,
        ...change(number),
      };
    },
  };
  return { driver, opened, closed, seeds };
}

const acts: Agent = async ({ environment }) => {
  await environment!.act({ id: 'a', name: 'say', arguments: {} }, signal);
  return 'acted';
};

test('the environment rates the attempt, and is closed after it', async () => {
  const { driver, opened, closed, seeds } = environments(() => ({}));
  const { settled } = await roll({ environments: driver, reward: undefined, agent: acts });
  expect(kindsOf(settled)).toEqual(Array(8).fill(0.5));
  expect([opened.count, closed.count]).toEqual([8, 8]);
  expect(seeds.size).toBe(2); // all attempts at a task begin in the same state
});

test('a reward function sees the rating of the environment and replaces it', async () => {
  const { driver } = environments(() => ({}));
  const { settled } = await roll({
    tasks: 1,
    n: 2,
    environments: driver,
    agent: acts,
    reward: ({ evaluation }) => evaluation!.reward! / 2,
  });
  expect(kindsOf(settled)).toEqual([0.25, 0.25]);
});

test('a lost environment is retried, never scored, even if the agent hides it', async () => {
  const { driver, closed } = environments((number) =>
    number === 0
      ? { act: () => Promise.reject(environmentFailure('environment-lost', 'the socket closed')) }
      : {},
  );
  const hides: Agent = (input) => Promise.resolve(acts(input)).catch(() => 'all is well');
  const given = { tasks: 1, n: 2, concurrency: 1, environments: driver, reward: undefined, agent: hides };
  const once = await roll({ ...given, retries: 1 });
  expect(kindsOf(once.settled)).toEqual([0.5, 0.5]);
  expect(once.settled[0]!.outcome.earlier).toEqual(['environment-lost']);
  expect(closed.count).toBe(3);
  const lostSession = once.opened.filter(({ ended }) => ended === 'discarded');
  expect(lostSession.map(({ rewards }) => rewards)).toEqual([[]]);
});

test('a full environment is waited for, and does not count as a retry', async () => {
  const { driver } = environments(() => ({}));
  let refusals = 2;
  const full: EnvironmentDriver = {
    ...driver,
    open: async (...input) => {
      if (refusals-- > 0) throw environmentFailure('environment-unavailable', 'CAPACITY_REACHED');
      return driver.open(...input);
    },
  };
  const { settled } = await roll({ tasks: 1, n: 1, environments: full, reward: undefined, agent: acts });
  expect(kindsOf(settled)).toEqual([0.5]);
  expect(settled[0]!.outcome.earlier).toEqual([]);
});

test('an environment that never opens fails the attempt', async () => {
  const { driver } = environments(() => ({}));
  const closedForever: EnvironmentDriver = {
    ...driver,
    open: () => Promise.reject(environmentFailure('environment-unavailable', 'no connection')),
  };
  const { settled, opened } = await roll({
    tasks: 1,
    n: 1,
    environments: closedForever,
    roomTimeoutMs: 1,
    reward: undefined,
  });
  expect(kindsOf(settled)).toEqual(['environment-unavailable']);
  expect(opened.map(({ ended }) => ended)).toEqual(['discarded']);
});

test('an evaluation that fails is repeated, and a second failure is not scored', async () => {
  let failures = 1;
  const evaluate = async () => {
    if (failures-- > 0) throw environmentFailure('evaluation-failed', 'no reward file');
    return { reward: -0.5, detail: {} };
  };
  const given = { tasks: 1, n: 1, reward: undefined, agent: acts };
  const { driver } = environments(() => ({ evaluate }));
  expect(kindsOf((await roll({ ...given, retries: 1, environments: driver })).settled)).toEqual([-0.5]);
  failures = 2;
  expect(kindsOf((await roll({ ...given, retries: 1, environments: driver })).settled)).toEqual([
    'evaluation-failed',
  ]);
});

test('the attempts at a task do not train when most of them failed', async () => {
  const { driver } = environments((number) =>
    number < 3
      ? { act: () => Promise.reject(environmentFailure('environment-broken', 'EXECUTION_ERROR')) }
      : {},
  );
  const { settled, opened, summary } = await roll({
    tasks: 2,
    n: 4,
    concurrency: 1,
    environments: driver,
    reward: undefined,
    agent: acts,
  });
  expect(kindsOf(settled)).toEqual([
    ...Array(3).fill('environment-broken'),
    'mostly-excluded',
    ...Array(4).fill(0.5),
  ]);
  expect(opened.filter(({ ended }) => ended === 'rewarded')).toHaveLength(4);
  const text = formatSummary(summary, { count: 0, ms: 0 });
  expect(text).toMatch(/excluded 4 of 8 attempts/);
  expect(text).toMatch(/1 of 2 tasks had the same reward/);
});

test('an action that is requested again is not carried out again', async () => {
  let count = 0;
  const act = async () => ({ content: String(++count), isError: false, isDone: false });
  const { driver } = environments(() => ({ act }));
  const repeats: Agent = async ({ environment }) => {
    const ask = (id: string) => environment!.act({ id, name: 'say', arguments: {} }, signal);
    return Promise.all([ask('a'), ask('a'), ask('b')]);
  };
  const { settled } = await roll({ tasks: 1, n: 1, environments: driver, reward: undefined, agent: repeats });
  const [{ outcome }] = settled as [(typeof settled)[0]];
  expect(outcome.kind === 'rewarded' && outcome.result).toMatchObject([
    { content: '1' },
    { content: '1' },
    { content: '2' },
  ]);
});

test('an attempt that timed out is rated as it stands only on request', async () => {
  const hangs: Agent = ({ signal: over }) =>
    new Promise((_, reject) => over.addEventListener('abort', () => reject(over.reason)));
  const { driver } = environments(() => ({}));
  const given = { tasks: 1, n: 1, timeoutMs: 20, environments: driver, reward: undefined, agent: hangs };
  expect(kindsOf((await roll(given)).settled)).toEqual(['agent-timed-out']);
  expect(kindsOf((await roll({ ...given, timeoutCounts: true })).settled)).toEqual([0.5]);
});

test('a full environment is waited for as long as another attempt uses it', async () => {
  let [used, refusals] = [0, 0];
  const refusedTwice = Promise.withResolvers<void>();
  const { driver } = environments(() => ({ close: async () => void used-- }));
  const one: EnvironmentDriver = {
    ...driver,
    open: async (...input) => {
      if (used > 0) {
        if (++refusals === 2) setImmediate(refusedTwice.resolve); // after this refusal was weighed
        throw environmentFull('CAPACITY_REACHED');
      }
      used++;
      return driver.open(...input);
    },
  };
  const { settled } = await roll({
    tasks: 1,
    n: 2,
    environments: one,
    roomTimeoutMs: 1_200, // longer than each of the first two waits, shorter than both
    reward: undefined,
    agent: () => refusedTwice.promise,
  });
  expect(kindsOf(settled)).toEqual([0.5, 0.5]);
});

test('a refusal of every attempt ends the rollout; any other error of a driver fails one attempt', async () => {
  const { driver } = environments(() => ({}));
  const given = { tasks: 1, n: 2, concurrency: 1, reward: undefined, agent: acts };
  let opened = 0;
  const breaks: EnvironmentDriver = {
    ...driver,
    open: async (...input) => {
      if (opened++ === 0) throw new TypeError('no such member');
      return driver.open(...input);
    },
  };
  expect(kindsOf((await roll({ ...given, environments: breaks })).settled)).toEqual([
    'environment-broken',
    0.5,
  ]);

  const stop = new AbortController();
  const refused: string[] = [];
  const { settled } = await roll({
    ...given,
    environments: { ...driver, open: () => Promise.reject(new UsageError('no vision model')) },
    stop: stop.signal,
    onRefused: (error) => {
      refused.push(error.message);
      stop.abort();
    },
  });
  expect(kindsOf(settled)).toEqual(['interrupted', 'interrupted']);
  expect(refused).toEqual(['no vision model']);
});

test('an environment that is lost while it rates an attempt, or by its shell, is lost and retried', async () => {
  const lost = () => Promise.reject(environmentFailure('environment-lost', 'the container is gone'));
  const given = { tasks: 1, n: 1, retries: 1, reward: undefined };
  const rates = environments((number) => (number === 0 ? { evaluate: lost } : {}));
  const rated = await roll({ ...given, environments: rates.driver, agent: acts });
  expect(rated.settled[0]!.outcome).toMatchObject({ reward: 0.5, earlier: ['environment-lost'] });

  const shells = environments((number) => ({
    shell: number === 0 ? lost : async () => ({ code: 0, output: '' }),
  }));
  const hides: Agent = ({ environment }) => environment!.shell!('true', signal).catch(() => 'all is well');
  const run = await roll({ ...given, environments: shells.driver, agent: hides });
  expect(run.settled[0]!.outcome).toMatchObject({ reward: 0.5, earlier: ['environment-lost'] });
});

test("the task's own limits count: a shorter one for the agent, a longer one for the rating", async () => {
  const hangs: Agent = () => new Promise(() => {});
  const short = environments(() => ({ agentLimitMs: 1 }));
  const given = { tasks: 1, n: 1, reward: undefined };
  const slow = await roll({ ...given, environments: short.driver, agent: hangs });
  expect(kindsOf(slow.settled)).toEqual(['agent-timed-out']);
  const evaluate = async () => {
    await new Promise((resolve) => setTimeout(resolve, 50));
    return { reward: 1, detail: {} };
  };
  const long = environments(() => ({ evaluate, evaluateLimitMs: 60_000 }));
  const patient = await roll({ ...given, environments: long.driver, agent: acts, rewardTimeoutMs: 1 });
  expect(kindsOf(patient.settled)).toEqual([1]);
});

test('a server that is gone ends a rollout that only waits for leases', async () => {
  const whole = createProtocolDouble();
  const say: typeof whole.leases.say = async () => ({ kind: 'silent', reason: 'ECONNREFUSED' });
  const double = { ...whole, leases: { say } };
  const { driver } = environments(() => ({}));
  const { settled } = await roll({
    double,
    tasks: 3,
    n: 2,
    concurrency: 2,
    environments: driver,
    reward: undefined,
    agent: acts,
    roomTimeoutMs: 10,
  });
  expect(kindsOf(settled)).toEqual(Array(6).fill('server-silent'));
}, 20_000);
