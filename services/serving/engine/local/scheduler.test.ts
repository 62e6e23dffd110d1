import { expect, test } from 'vitest';
import { policyOf, schedulerFixture } from './testing/scheduler-setup.ts';
import { PIECE } from './testing/version-decoder.ts';

test('requests wait for the first version, then share its steps', async () => {
  const { scheduler, run } = schedulerFixture(4, 0);
  const answers = [5, 5, 5, 5].map((tokens) => run(tokens).outcome);
  expect(scheduler.counters()).toMatchObject({ waiting: 4, running: 0 });
  await scheduler.serve('alice', policyOf(3));
  for (const { version, seen } of await Promise.all(answers)) expect([version, seen.length]).toEqual([3, 5]);
  const { steps, stepSequences } = scheduler.counters();
  expect(stepSequences).toBe(16);
  expect(steps).toBeLessThanOrEqual(8);
});

test('a long prompt is read between the steps of running answers', async () => {
  const { scheduler, run } = schedulerFixture(2, 0);
  await scheduler.serve('alice', policyOf(0));
  let said = 0;
  const running = run(60, {
    onChunk: () => {
      said += 1;
    },
  });
  const before = said;
  let begun = 0;
  const long = run(1, {
    promptTokens: 100,
    onChunk: () => {
      begun = said;
    },
  });
  await long.outcome;
  expect(begun - before).toBeGreaterThanOrEqual(100 / PIECE - 1);
  await running.outcome;
});

test('without room for all, the youngest continue later and the oldest is not interrupted', async () => {
  const { scheduler, run } = schedulerFixture(4, 0, { positions: 24 });
  await scheduler.serve('alice', policyOf(0));
  const ended: number[] = [];
  const answers = [0, 1, 2, 3].map(() => {
    const { id, outcome } = run(12, { promptTokens: 4 });
    return outcome.then(({ seen }) => {
      ended.push(id);
      return seen.length;
    });
  });
  expect(await Promise.all(answers)).toEqual([12, 12, 12, 12]);
  expect(ended).toEqual([0, 1, 2, 3]);
  expect(scheduler.counters().preemptions).toBeGreaterThan(0);
});

test('a job that needs much room is not overtaken forever by short prompts', async () => {
  const { scheduler, run } = schedulerFixture(4, 0, { positions: 40 });
  await scheduler.serve('alice', policyOf(1));
  await scheduler.serve('bob', policyOf(1, 'bob'));
  const target = { kind: 'live', adapter: 'bob' } as const;
  let isOver = false;
  let passed = 0;
  const chatOn = async (): Promise<void> => {
    while (!isOver && passed < 200) {
      await run(8, { target, promptTokens: 5 }).outcome;
      passed += 1;
    }
  };
  const chats = [chatOn(), chatOn(), chatOn()];
  const long = run(4, { promptTokens: 30 });
  await long.outcome;
  isOver = true;
  expect(passed).toBeLessThan(20);
  await Promise.all(chats);
});

test('requests beyond the queue limit are refused with a time to retry', async () => {
  const { scheduler, run } = schedulerFixture(1, 0, { maxWaiting: 3 });
  const first = [1, 2, 3].map(() => run(2).outcome);
  await expect(run(2).outcome).rejects.toMatchObject({
    code: 'engine_busy',
    status: 429,
    retryAfterSeconds: 3,
  });
  await scheduler.serve('alice', policyOf(0));
  for (const { seen } of await Promise.all(first)) expect(seen).toHaveLength(2);
  expect((await run(2).outcome).seen).toHaveLength(2);
});

test('all choices of a request are queued or none, and all get the same version', async () => {
  const { scheduler, runAll } = schedulerFixture(2, 0, { maxWaiting: 5 });
  const refused = (outcomes: readonly Promise<unknown>[]) =>
    Promise.all(outcomes.map((outcome) => outcome.catch(({ code }: { code: string }) => code)));
  const three = runAll(3, 4);
  expect(await refused(runAll(3, 4).outcomes)).toEqual(Array(3).fill('engine_busy'));
  await scheduler.serve('alice', policyOf(1));
  await new Promise((resolve) => setImmediate(resolve));
  expect(scheduler.counters()).toMatchObject({ running: 2, waiting: 1 });
  await scheduler.serve('alice', policyOf(2));
  const versions = (await Promise.all(three.outcomes)).map(({ version }) => version);
  expect(versions).toEqual([1, 1, 1]);
  expect(scheduler.counters().versions).toEqual(['alice@v2']);
});

test('a failing decoder ends its own answers only', async () => {
  const { scheduler, run, budget } = schedulerFixture(2, 1, { brokenVersion: 0 });
  await scheduler.serve('alice', policyOf(1));
  const others = [run(30), run(30)];
  const failing = run(5, { target: { kind: 'pinned', version: 0 } });
  await expect(failing.outcome).rejects.toThrow('out of memory');
  expect(scheduler.counters().running).toBe(2);
  for (const { outcome } of others) expect((await outcome).seen).toEqual(Array(30).fill(1));
  expect([scheduler.counters().running, budget.taken]).toEqual([0, 0]);
});
