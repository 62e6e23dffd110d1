import { getEventListeners } from 'node:events';
import { expect, test } from 'vitest';
import {
  aborted,
  createInTurn,
  createMutex,
  doubling,
  every,
  pause,
  retry,
  unlessAborted,
  withDeadline,
} from './async.ts';

const never = new Promise<never>(() => {});
const listeners = (signal: AbortSignal) => getEventListeners(signal, 'abort').length;

test('a pause ends early when the signal aborts', async () => {
  const stop = new AbortController();
  const paused = pause(60_000, stop.signal);
  stop.abort();
  await paused;
  await pause(60_000, stop.signal);
  await pause(1);
});

test('work within its deadline settles as it does; late work gives what onLate returns or throws', async () => {
  expect(await withDeadline(Promise.resolve(1), 60_000, () => 'late')).toBe(1);
  await expect(withDeadline(Promise.reject(new Error('failed')), 60_000, () => 0)).rejects.toThrow('failed');
  expect(await withDeadline(never, 1, () => 'late')).toBe('late');
  const late = withDeadline(never, 1, () => {
    throw new Error('late');
  });
  await expect(late).rejects.toThrow('late');
});

test('work that fails after its deadline is no unhandled rejection', async () => {
  const work = Promise.withResolvers<never>();
  expect(await withDeadline(work.promise, 1, () => 'late')).toBe('late');
  work.reject(new Error('too late to matter'));
  await pause(1);
});

test('an abort ends the wait at once, and no listener stays on the signal', async () => {
  const stop = new AbortController();
  expect(await unlessAborted(Promise.resolve(1), stop.signal)).toBe(1);
  await expect(unlessAborted(Promise.reject(new Error('failed')), stop.signal)).rejects.toThrow('failed');
  expect(listeners(stop.signal)).toBe(0);
  const waits = [unlessAborted(never, stop.signal), unlessAborted(never, stop.signal, () => 'ended')];
  const resolved = aborted(stop.signal);
  stop.abort(new Error('why'));
  await expect(waits[0]).rejects.toThrow('why');
  expect(await waits[1]).toBe('ended');
  await resolved;
  await aborted(stop.signal);
  expect(listeners(stop.signal)).toBe(0);
  await expect(unlessAborted(never, stop.signal)).rejects.toThrow('why');
});

test('waits double up to the longest', () => {
  const waits = doubling(50, 300);
  expect(Array.from({ length: 5 }, () => waits.next().value)).toEqual([50, 100, 200, 300, 300]);
});

const failing = (times: number) => {
  let calls = 0;
  return async () => {
    calls += 1;
    if (calls <= times) throw new Error(`failure ${calls}`);
    return calls;
  };
};

test('work is repeated until it succeeds', async () => {
  expect(await retry(failing(3), { waits: doubling(1, 2) })).toBe(4);
});

test('a retry gives up after its last wait, where onFailure throws, and when the signal aborts', async () => {
  await expect(retry(failing(5), { waits: [1, 1] })).rejects.toThrow('failure 3');
  const onFailure = (error: unknown) => {
    if ((error as Error).message === 'failure 2') throw new Error('for good', { cause: error });
  };
  await expect(retry(failing(5), { waits: doubling(1, 1), onFailure })).rejects.toThrow('for good');
  const stop = new AbortController();
  const retried = retry(failing(5), { waits: [60_000], signal: stop.signal });
  stop.abort();
  await expect(retried).rejects.toThrow('failure 1');
});

test('works in a mutex run one after the other, also past a failure', async () => {
  const exclusive = createMutex();
  const seen: string[] = [];
  const gate = Promise.withResolvers<void>();
  const first = exclusive(async () => {
    seen.push('first begins');
    await gate.promise;
    seen.push('first ends');
    throw new Error('first');
  });
  const second = exclusive(async () => seen.push('second'));
  gate.resolve();
  await expect(first).rejects.toThrow('first');
  await second;
  expect(seen).toEqual(['first begins', 'first ends', 'second']);
});

test('an abort gives up a place in the line, and the order of the others stays', async () => {
  const exclusive = createMutex();
  const stop = new AbortController();
  const gate = Promise.withResolvers<void>();
  const first = exclusive(() => gate.promise);
  const second = exclusive(async () => 'second', stop.signal);
  const third = exclusive(async () => 'third');
  stop.abort(new Error('given up'));
  await expect(second).rejects.toThrow('given up');
  await expect(exclusive(async () => 'fourth', stop.signal)).rejects.toThrow('given up');
  gate.resolve();
  await first;
  expect(await third).toBe('third');
  expect(listeners(stop.signal)).toBe(0);
});

test('works of one name wait for each other, in their order, also past a failure; others do not', async () => {
  const inTurn = createInTurn();
  const seen: string[] = [];
  const gate = Promise.withResolvers<void>();
  const work =
    (name: string, wait: Promise<void> | undefined, fails = false) =>
    async () => {
      seen.push(`${name} begins`);
      await wait;
      seen.push(`${name} ends`);
      if (fails) throw new Error(name);
      return name;
    };
  const first = inTurn('a', work('1', gate.promise, true));
  const second = inTurn('a', work('2', undefined));
  await inTurn('b', work('other', undefined));
  expect(seen).toEqual(['1 begins', 'other begins', 'other ends']);
  gate.resolve();
  await expect(first).rejects.toThrow('1');
  expect(await second).toBe('2');
  expect(seen.slice(3)).toEqual(['1 ends', '2 begins', '2 ends']);
});

test('a periodic task does not overlap, survives a failure and ends with the signal', async () => {
  const stop = new AbortController();
  const failures: unknown[] = [];
  let [runs, running] = [0, 0];
  const task = async () => {
    expect(++running).toBe(1);
    await pause(3);
    running -= 1;
    runs += 1;
    if (runs === 1) throw new Error('once');
    if (runs === 3) stop.abort();
  };
  await every(1, task, stop.signal, (error) => failures.push(error));
  expect([runs, failures.length]).toEqual([3, 1]);
});
