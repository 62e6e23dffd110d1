import { afterEach, beforeEach, expect, test } from 'vitest';
import { openThread, type Thread } from './thread.ts';

type Calls = Readonly<
  Record<
    'echo' | 'wait' | 'refuse' | 'crowd' | 'break' | 'die',
    { readonly ask: unknown; readonly result: unknown }
  >
>;
let thread: Thread<Calls>;
beforeEach(async () => {
  thread = await openThread<Calls>(new URL('./testing/echo-thread.ts', import.meta.url), undefined);
});
afterEach(() => thread.close());

test('calls run side by side, with their events', async () => {
  const events: unknown[] = [];
  const answers = [1, 2, 3].map((ask) =>
    thread.call('echo', ask, { onEvent: (event) => events.push(event) }),
  );
  expect(await Promise.all(answers)).toEqual([1, 2, 3]);
  expect(events).toEqual(['heard', 'heard', 'heard']);
});

test('an abort reaches only its own call', async () => {
  const stop = new AbortController();
  const waiting = thread.call('wait', undefined, { signal: stop.signal });
  expect(await thread.call('echo', 'meanwhile')).toBe('meanwhile');
  stop.abort();
  expect(await waiting).toBe('stopped');
});

test('errors keep their row of the table between threads', async () => {
  await expect(thread.call('refuse', undefined)).rejects.toMatchObject({
    code: 'template_refused',
    status: 400,
    param: 'messages',
    message: expect.stringContaining('no'),
  });
  await expect(thread.call('crowd', undefined)).rejects.toMatchObject({
    code: 'engine_busy',
    status: 429,
    retryAfterSeconds: 7,
    message: expect.stringContaining('3 requests'),
  });
  await expect(thread.call('break', undefined)).rejects.toMatchObject({
    code: 'engine_failed',
    status: 500,
    message: 'The engine failed: out of memory',
  });
});

test('the end of a thread fails its calls, with the reason', async () => {
  const waiting = thread.call('wait', undefined);
  waiting.catch(() => {});
  await expect(thread.call('die', undefined)).rejects.toMatchObject({ code: 'engine_failed' });
  await expect(waiting).rejects.toMatchObject({ code: 'engine_failed' });
  await expect(thread.call('echo', 'too late')).rejects.toMatchObject({ code: 'engine_failed' });
  await expect(thread.failed).rejects.toThrow(/ended with code 3/);
});
