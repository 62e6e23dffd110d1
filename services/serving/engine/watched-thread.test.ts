import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { openWatchedThread, type WatchedThread } from './watched-thread.ts';

type Known = Readonly<
  Record<'echo' | 'refuse' | 'spin' | 'fill' | 'die', { readonly ask: unknown; readonly result: unknown }>
>;
const module = new URL('./testing/echo-thread.ts', import.meta.url);
let thread: WatchedThread<Known>;
beforeEach(async () => {
  thread = await openWatchedThread<Known>(module, undefined, { callMs: 1_000, startMs: 60_000, heapMib: 64 });
});
afterEach(() => thread.close());

const tooCostly = (param: string) => ({ code: 'request_too_costly', status: 400, param });

test('a call that never ends is refused by the name of its field; the others are answered', async () => {
  const spinning = expect(thread.call('spin', undefined)).rejects.toMatchObject(tooCostly('response_format'));
  const others = [1, 2, 3].map((ask) => thread.call('echo', ask));
  await vi.waitFor(() => expect(thread.problem()).toBe('one prompt keeps all others waiting'), 30_000);
  await spinning;
  expect(thread.problem()).toMatch(/is restarting/);
  expect(await Promise.all(others)).toEqual([1, 2, 3]);
  expect(thread.problem()).toBeUndefined();
});

test('a call that needs too much memory or ends its thread is refused, too', async () => {
  for (const name of ['fill', 'die'] as const) {
    const refused = expect(thread.call(name, undefined)).rejects.toMatchObject(tooCostly('messages'));
    const other = thread.call('echo', name);
    await refused;
    expect(await other).toBe(name);
  }
});

test("the thread's own refusal is passed on, and the thread is not restarted", async () => {
  await expect(thread.call('refuse', undefined)).rejects.toMatchObject({ code: 'template_refused' });
  expect(thread.problem()).toBeUndefined();
  expect(await thread.call('echo', 'next')).toBe('next');
});

test('a call whose client left before its turn is not made', async () => {
  const stop = new AbortController();
  const spinning = expect(thread.call('spin', undefined)).rejects.toMatchObject(tooCostly('response_format'));
  const ready = thread.call('echo', 'lies ready');
  const left = expect(thread.call('echo', 'left', { signal: stop.signal })).rejects.toThrow(
    'the client left',
  );
  stop.abort(new Error('the client left'));
  await left;
  await spinning;
  expect(await ready).toBe('lies ready');
});

test('a thread that does not start in time is reported', async () => {
  const late = openWatchedThread<Known>(module, undefined, { callMs: 1_000, startMs: 1, heapMib: 64 });
  await expect(late).rejects.toThrow('did not start within 1 ms');
});
