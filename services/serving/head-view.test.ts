import { expect, test } from 'vitest';
import { logError } from '../../shared/log/errors.ts';
import type { EventLog, Following } from '../../shared/log/event-log.ts';
import { followHead } from './head-view.ts';

const follow = (following: Partial<Following>): Pick<EventLog, 'follow' | 'ends'> => ({
  ends: async () => [0],
  follow: () => ({
    caughtUp: Promise.resolve(),
    reachEnd: async () => {},
    done: Promise.resolve(),
    ...following,
  }),
});
const view = (following: Partial<Following>, signal: AbortSignal) =>
  followHead({ log: follow(following), adapters: ['default'], checkpointsOf: () => '/nowhere', signal });

test('a record of a newer version ends the view, not the service', async () => {
  const stop = new AbortController();
  const head = view(
    { done: Promise.reject(logError('NewerSchema', 'policy.promoted is version 9')) },
    stop.signal,
  );
  await expect.poll(() => head.stopped()).toBe('policy.promoted is version 9');
  expect(head.of('default').head()).toEqual({ version: 0 });
  stop.abort();
  await expect(head.done).resolves.toBeUndefined();
});

test('any other end of the log ends the service', async () => {
  const head = view(
    { done: Promise.reject(logError('LogUnavailable', 'gone')) },
    new AbortController().signal,
  );
  await expect(head.done).rejects.toThrow('gone');
});
