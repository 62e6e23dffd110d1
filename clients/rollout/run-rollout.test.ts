import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import type { Agent, RewardFunction } from './contract.ts';
import { resultLine } from './result-line.ts';
import type { Silence } from './server-watch.ts';
import { formatSummary } from './summary.ts';
import { createProtocolDouble } from './testing/protocol-server.ts';
import { kindsOf, roll } from './testing/roll.ts';

test('each attempt has a session, a reward and an advantage', async () => {
  const { settled, opened, summary } = await roll({});
  expect(settled).toHaveLength(8);
  expect(opened.map(({ ended }) => ended)).toEqual(Array(8).fill('rewarded'));
  const last = opened.filter(({ task }) => task === 't0').map(({ rewards }) => rewards.at(-1)!);
  expect(last.map(({ reward }) => reward).sort()).toEqual([0, 0.1, 0.2, 0.3]);
  for (const { reward, advantage } of last) expect(advantage).toBeCloseTo(reward - 0.15, 12);
  expect(summary).toMatchObject({ rewarded: 8, failed: 0, withoutAdvantage: 0, withoutSpread: 0 });
});

test('a failed attempt is discarded, not scored 0; the others are compared', async () => {
  const agent: Agent = ({ attempt }) => {
    if (attempt === 0) throw new Error('no tools');
    return attempt;
  };
  const { settled, opened, summary } = await roll({ tasks: 1, retries: 2, agent });
  expect(kindsOf(settled)).toEqual(['agent-threw', 0.1, 0.2, 0.3]);
  expect(opened.map(({ ended }) => ended).sort()).toEqual([
    ...Array(3).fill('discarded'),
    ...Array(3).fill('rewarded'),
  ]);
  expect(opened.filter(({ ended }) => ended === 'discarded').flatMap(({ rewards }) => rewards)).toEqual([]);
  expect(settled[1]!.advantage).toBeCloseTo(-0.1, 12);
  expect(JSON.parse(resultLine(settled[0]!))).toMatchObject({
    task: 't0',
    outcome: 'agent-threw',
    reward: null,
    advantage: null,
    error: 'Error: no tools',
    earlier: ['agent-threw', 'agent-threw'],
  });
  expect(formatSummary(summary, { count: 0, ms: 0 })).toMatch(/agent-threw +1 +2 /);
});

test('an attempt that fails once is retried', async () => {
  const tried = new Set<string>();
  const agent: Agent = ({ attempt, task }) => {
    const name = JSON.stringify([task, attempt]);
    if (tried.has(name)) return attempt;
    tried.add(name);
    throw new Error('once');
  };
  const { summary, opened } = await roll({ retries: 1, agent });
  expect(summary).toMatchObject({ rewarded: 8, failed: 0, retried: 8 });
  expect(opened.filter(({ ended }) => ended === 'discarded')).toHaveLength(8);
});

test('an agent that times out is aborted, and abandoned if it continues', async () => {
  const late = Promise.withResolvers<number>();
  let isAborted = false;
  const agent: Agent = ({ attempt, signal }) => {
    if (attempt !== 2) return attempt;
    signal.addEventListener('abort', () => {
      isAborted = true;
    });
    return late.promise;
  };
  const { settled, strays } = await roll({ tasks: 1, agent, timeoutMs: 30 });
  expect(kindsOf(settled)).toEqual([0, 0.1, 'agent-timed-out', 0.3]);
  expect({ isAborted, ...strays }).toEqual({ isAborted: true, count: 1 });
  late.resolve(1);
  await expect.poll(() => strays.count).toBe(0);
});

test.each([
  [Number.NaN, 'reward-not-a-number'],
  [Number.POSITIVE_INFINITY, 'reward-not-a-number'],
  ['1', 'reward-not-a-number'],
  [true, 'reward-not-a-number'],
  [undefined, 'reward-not-a-number'],
  [1.5, 'reward-out-of-range'],
])('a reward function that returns %s', async (value, kind) => {
  const reward: RewardFunction = ({ attempt }) => (attempt === 1 ? (value as number) : 0.5);
  const { settled, opened, summary } = await roll({ tasks: 1, reward, retries: 3 });
  expect(kindsOf(settled)).toEqual([0.5, kind, 0.5, 0.5]);
  expect(opened).toHaveLength(4); // the same result would be scored the same
  expect(summary.withoutSpread).toBe(1);
});

test('a reward function that throws is retried with the same result', async () => {
  let asked = 0;
  const reward: RewardFunction = ({ attempt }) => {
    if (attempt === 3) {
      asked++;
      throw new Error('no judge');
    }
    return attempt / 10;
  };
  const { settled, opened } = await roll({ tasks: 1, reward, retries: 2 });
  expect(kindsOf(settled)).toEqual([0, 0.1, 0.2, 'reward-threw']);
  expect({ asked, sessions: opened.length }).toEqual({ asked: 3, sessions: 4 });
});

test('a single rewarded attempt is sent without an advantage', async () => {
  const agent: Agent = ({ attempt }) => {
    if (attempt > 0) throw new Error('no');
    return 5;
  };
  const { settled, opened, summary } = await roll({ tasks: 1, agent });
  expect(settled[0]).toMatchObject({ advantage: undefined, isEnded: true });
  expect(opened[0]!.rewards).toEqual([{ reward: 0.5 }]);
  expect(summary.withoutAdvantage).toBe(1);
  expect(formatSummary(summary, { count: 0, ms: 0 })).toMatch(/1 tasks had fewer than two/);
});

test('the sessions of a task end one at a time, in order of start', async () => {
  const double = createProtocolDouble();
  const ends: string[] = [];
  let running = 0;
  const end: typeof double.client.end = async (key, options) => {
    ends.push(key);
    expect(++running).toBe(1);
    await delay(1);
    running--;
    return double.client.end(key, options);
  };
  const agent: Agent = async ({ attempt }) => {
    await delay(5 - attempt);
    return attempt;
  };
  await roll({ double: { ...double, client: { ...double.client, end } }, tasks: 1, n: 5, agent });
  expect(ends).toEqual([0, 1, 2, 3, 4].map((n) => `sk-sess-${n}`));
});

test('an agent that sends no request fails', async () => {
  const double = createProtocolDouble({ silentInteractions: ['t1'] });
  const { settled } = await roll({ double, n: 2 });
  expect(kindsOf(settled)).toEqual([0, 0.1, 'no-interaction', 'no-interaction']);
});

test('with room for one task, later tasks and retries do not take its place', async () => {
  const double = createProtocolDouble({ room: 3 });
  const tried = new Set<string>();
  const agent: Agent = async ({ attempt, task }) => {
    await delay(1);
    const name = JSON.stringify([task, attempt]);
    if (tried.has(name) || attempt === 1) return attempt;
    tried.add(name);
    throw new Error('once');
  };
  const { summary, waits, mostOpen } = await roll({
    double,
    tasks: 5,
    n: 3,
    retries: 1,
    concurrency: 8,
    agent,
  });
  expect(summary).toMatchObject({ rewarded: 15, failed: 0, retried: 10 });
  expect(mostOpen).toBe(3);
  expect(waits.count).toBeGreaterThan(0);
  expect(formatSummary(summary, waits)).toMatch(/waited \d+ times for room/);
});

test('with less room than attempts, those that got a session are compared', async () => {
  const double = createProtocolDouble({ room: 3 });
  const { settled, summary } = await roll({ double, tasks: 2, n: 4, roomTimeoutMs: 30 });
  expect(kindsOf(settled)).toEqual([0, 0.1, 0.2, 'no-room', 0, 0.1, 0.2, 'no-room']);
  expect(settled[2]!.advantage).toBeCloseTo(0.1, 12);
  expect(summary.failed).toBe(2);
});

test('a server that is silent is reported once, and again when it answers or is given up', async () => {
  const whole = createProtocolDouble();
  const heard: Silence[] = [];
  let silentFor = 2;
  const silent = { kind: 'silent', reason: 'ECONNREFUSED' } as const;
  const start: typeof whole.client.start = async (...given) =>
    silentFor-- > 0 ? silent : whole.client.start(...given);
  const double = { ...whole, client: { ...whole.client, start } };
  const onSilence = (silence: Silence) => heard.push(silence);
  const { summary } = await roll({ double, tasks: 1, n: 2, onSilence });
  expect(summary.failed).toBe(0);
  expect(heard).toEqual([{ ...silent, kind: 'silent' }, { kind: 'over' }]);
  silentFor = Number.POSITIVE_INFINITY;
  const gone = await roll({ double, tasks: 1, n: 1, roomTimeoutMs: 10, onSilence });
  expect(kindsOf(gone.settled)).toEqual(['server-silent']);
  expect(heard.slice(2).map(({ kind }) => kind)).toEqual(['silent', 'given-up']);
});

test('a server that only answers with errors of its own is silent', async () => {
  const whole = createProtocolDouble();
  const ends = { kind: 'refused', status: 503, code: '', message: 'ending', retryAfter: undefined } as const;
  const heard: Silence[] = [];
  const onSilence = (silence: Silence) => heard.push(silence);
  const started = { ...whole, client: { ...whole.client, start: async () => ends } };
  const { settled } = await roll({ double: started, tasks: 1, n: 2, roomTimeoutMs: 10, onSilence });
  expect(kindsOf(settled)).toEqual(['server-silent', 'server-silent']);
  expect(heard.map(({ kind }) => kind)).toEqual(['silent', 'given-up']);
  expect(heard[0]).toMatchObject({ reason: '503: ending' });

  const ended = { ...whole, client: { ...whole.client, end: async () => ends } };
  const agent: Agent = () => Promise.reject(new Error('503'));
  const failed = await roll({ double: ended, tasks: 1, n: 2, roomTimeoutMs: 10, agent });
  expect(kindsOf(failed.settled)).toEqual(['server-silent', 'server-silent']);
}, 20_000);

test('a server that is gone ends a rollout that only waits to send rewards', async () => {
  const whole = createProtocolDouble();
  const reward: typeof whole.client.reward = async () => ({ kind: 'silent', reason: 'ECONNREFUSED' });
  const double = { ...whole, client: { ...whole.client, reward } };
  const { settled } = await roll({ double, tasks: 3, n: 2, concurrency: 2, roomTimeoutMs: 10 });
  expect(kindsOf(settled)).toEqual(Array(6).fill('server-silent'));
}, 20_000);

test('an agent that throws because the server is gone has not failed by itself', async () => {
  const whole = createProtocolDouble();
  const end: typeof whole.client.end = async () => ({ kind: 'silent', reason: 'ECONNREFUSED' });
  const double = { ...whole, client: { ...whole.client, end } };
  const agent: Agent = () => Promise.reject(new Error('fetch failed'));
  const { settled } = await roll({ double, tasks: 1, n: 2, roomTimeoutMs: 10, agent });
  expect(kindsOf(settled)).toEqual(['server-silent', 'server-silent']);
  expect(JSON.parse(resultLine(settled[0]!))).toMatchObject({
    error: 'ECONNREFUSED; agent-threw: Error: fetch failed',
  });
}, 20_000);

test('a stopped rollout discards open sessions and keeps settled ones', async () => {
  const stop = new AbortController();
  const agent: Agent = async ({ task, attempt, signal }) => {
    if ((task as { index: number }).index === 0) return attempt;
    if (attempt === 0) return attempt;
    if (attempt === 3) stop.abort();
    await delay(10_000, undefined, { signal });
    return attempt;
  };
  const { settled, opened } = await roll({ tasks: 3, concurrency: 4, agent, stop: stop.signal });
  expect(kindsOf(settled)).toEqual([0, 0.1, 0.2, 0.3, ...Array(8).fill('interrupted')]);
  expect(opened.map(({ ended }) => ended)).toEqual([
    ...Array(4).fill('rewarded'),
    ...Array(opened.length - 4).fill('discarded'),
  ]);
});

test('the seed of an attempt is derived from the seed of the rollout', async () => {
  const seedsOf = async (seed: number) => {
    const seeds: string[] = [];
    const agent: Agent = (input) => {
      seeds.push(`${JSON.stringify(input.task)}/${input.attempt}: ${input.seed}`);
      return 0;
    };
    await roll({ agent, seed });
    return seeds.sort();
  };
  const first = await seedsOf(1);
  expect(new Set(first.map((line) => line.split(': ')[1])).size).toBe(8);
  expect(await seedsOf(1)).toEqual(first);
  expect(await seedsOf(2)).not.toEqual(first);
});

test('no further task begins once enough tasks gave different rewards', async () => {
  const agent: Agent = ({ task, attempt }) => ((task as { index: number }).index % 2 === 0 ? 1 : attempt);
  const { settled, summary } = await roll({ tasks: 8, n: 2, concurrency: 1, informative: 2, agent });
  expect(settled.map(({ attempt }) => attempt.index)).toEqual([0, 0, 1, 1, 2, 2, 3, 3]);
  expect(summary).toMatchObject({ tasks: 4, withoutSpread: 2 });
});

test('the summary warns when nearly all tasks gave the same reward', async () => {
  const text = async (agent: Agent) =>
    formatSummary((await roll({ tasks: 5, n: 2, agent })).summary, { count: 0, ms: 0 });
  expect(await text(() => 1)).toMatch(/5 of 5 tasks had the same reward[\s\S]*warning: nearly all tasks/);
  expect(await text(({ attempt }) => attempt)).not.toMatch(/warning/);
});
