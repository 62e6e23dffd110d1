import { getEventListeners } from 'node:events';
import { afterEach, expect, test } from 'vitest';
import type { TestCalls } from './testing/calls-worker.ts';
import { openWorker, type WorkerCalls } from './worker-calls.ts';

const open: WorkerCalls<TestCalls, string>[] = [];
afterEach(async () => {
  for (const worker of open.splice(0)) await worker.end();
});

function start(workerData = 'a model') {
  const worker = openWorker<TestCalls, string>(new URL('./testing/calls-worker.ts', import.meta.url), {
    workerData,
    errorOf: (failure) => new Error(`failed: ${String(failure)}`),
    exited: (code) => new Error(`exit ${code}`),
    cutOff: (cause) => new Error(`cut off: ${cause.message}`),
  });
  open.push(worker);
  return worker;
}

test('a thread reports when it is ready, and calls run side by side with their events', async () => {
  const worker = start();
  expect(await worker.ready).toBe('loaded a model');
  const events: unknown[] = [];
  const count = worker.call('count', 3, { onEvent: (event) => events.push(event) });
  expect(await Promise.all([count, worker.call('echo', { a: [1] })])).toEqual(['counted', { a: [1] }]);
  expect(events).toEqual([1, 2, 3]);
});

test('an abort reaches its call alone, and leaves no listener', async () => {
  const worker = start();
  const stop = new AbortController();
  const waiting = worker.call('wait', null, { signal: stop.signal });
  expect(await worker.call('echo', 1, { signal: stop.signal })).toBe(1);
  stop.abort();
  expect(await waiting).toBe('ended early');
  expect(getEventListeners(stop.signal, 'abort')).toEqual([]);
});

test('memory is transferred in both directions without a copy', async () => {
  const numbers = Float64Array.of(1, 2);
  const doubled = await start().call('double', numbers, { transfer: [numbers.buffer] });
  expect([...doubled]).toEqual([2, 4]);
  expect(numbers.byteLength).toBe(0);
});

test('an error of a call, or a question that cannot be cloned, fails that call alone', async () => {
  const worker = start();
  await expect(worker.call('fail', null)).rejects.toThrow('failed: RangeError: too large');
  await expect(worker.call('echo', () => {})).rejects.toThrow('could not be cloned');
  expect(await worker.call('echo', 1)).toBe(1);
});

test('the end of a thread cuts off its calls, and it accepts no more', async () => {
  const worker = start();
  const waiting = worker.call('wait', null);
  const dying = worker.call('die', null);
  await Promise.all([waiting, dying].map((one) => expect(one).rejects.toThrow('cut off: exit 3')));
  await expect(worker.call('echo', 1)).rejects.toThrow('cut off: exit 3');
  await expect(worker.ended).rejects.toThrow('exit 3');
});

test('a thread that cannot start is never ready', async () => {
  const worker = start('cannot start');
  await expect(worker.ready).rejects.toThrow('no model');
  await expect(worker.ended).rejects.toThrow('no model');
});

test('calls are cut off for the cause that ended the thread', async () => {
  const worker = start();
  const waiting = worker.call('wait', null);
  const cut = expect(waiting).rejects.toThrow('cut off: it took too long');
  await worker.end(new Error('it took too long'));
  await cut;
});
