import { expect, test } from 'vitest';
import { policyOf, schedulerFixture } from './testing/scheduler-setup.ts';

test('a version that reads ahead makes room for answers that wait', async () => {
  const { scheduler, run } = schedulerFixture(2, 0, { positions: 60 });
  const aTurn = () => new Promise((resolve) => setImmediate(resolve));
  await scheduler.serve('alice', policyOf(1));
  await run(2, { promptTokens: 40 }).outcome;
  const serving = scheduler.serve('alice', policyOf(2));
  await aTurn();
  const asked = run(1, { promptTokens: 30 });
  await aTurn(); // no more than one, of the 20 that the version would read
  expect(scheduler.counters()).toMatchObject({ running: 1, waiting: 0 });
  await Promise.all([serving, asked.outcome]);
  expect(scheduler.counters().versions).toEqual(['alice@v2']);
});

test('a rollback does not wait for reading ahead', async () => {
  const { scheduler, run } = schedulerFixture(2, 2);
  await scheduler.serve('alice', policyOf(1));
  await scheduler.serve('alice', policyOf(2));
  await run(2, { promptTokens: 400 }).outcome;
  const served = scheduler.serve('alice', policyOf(1));
  await new Promise((resolve) => setImmediate(resolve));
  expect((await run(1).outcome).version).toBe(1);
  await served;
});

test('a version rolled back while it reads ahead is never served and is freed', async () => {
  const { scheduler, run, inMemory, budget } = schedulerFixture(2, 0);
  await scheduler.serve('alice', policyOf(1));
  await run(2, { promptTokens: 400 }).outcome;
  const stop = new AbortController();
  const serving = scheduler.serve('alice', policyOf(2), stop.signal);
  await new Promise((resolve) => setImmediate(resolve));
  stop.abort();
  await expect(serving).rejects.toMatchObject({ name: 'STOPPING' });
  expect((await run(1).outcome).version).toBe(1);
  expect([[...inMemory], budget.taken]).toEqual([[1], 0]);
});

test('a version continues to read ahead while answers wait only for a slot', async () => {
  const { scheduler, run } = schedulerFixture(1, 0);
  await scheduler.serve('alice', policyOf(1));
  await run(2, { promptTokens: 40 }).outcome;
  const running = run(200);
  const waiting = run(1);
  let isServed = false;
  const serving = scheduler.serve('alice', policyOf(2)).then(() => {
    isServed = true;
  });
  for (let turn = 0; turn < 10; turn++) await new Promise((resolve) => setImmediate(resolve));
  expect([isServed, scheduler.counters()]).toMatchObject([false, { running: 1, waiting: 1 }]);
  await serving;
  expect((await waiting.outcome).version).toBe(2);
  expect((await running.outcome).version).toBe(1);
});

test('two adapters read ahead independently', async () => {
  const { scheduler, run } = schedulerFixture(2, 0);
  const aTurn = () => new Promise((resolve) => setImmediate(resolve));
  const ask = (adapter: string, promptTokens = 1) =>
    run(2, { target: { kind: 'live', adapter }, promptTokens }).outcome;
  for (const adapter of ['alice', 'bob']) {
    await scheduler.serve(adapter, policyOf(1, adapter));
    await ask(adapter, 400);
  }
  const served: string[] = [];
  const stop = new AbortController();
  const serve = (adapter: string, version: number, signal?: AbortSignal) =>
    scheduler.serve(adapter, policyOf(version, adapter), signal).then(
      () => served.push(`${adapter}@v${version}`),
      () => {},
    );
  const alice = serve('alice', 2);
  const bob = serve('bob', 2, stop.signal);
  await aTurn();
  stop.abort();
  await bob;
  await serve('bob', 0); // a rollback, which reads nothing
  expect(served).toEqual(['bob@v0']);
  expect([(await ask('alice')).version, (await ask('bob')).version]).toEqual([1, 0]);
  await alice;
  expect(served).toEqual(['bob@v0', 'alice@v2']);
});
