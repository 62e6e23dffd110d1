import { once } from 'node:events';
import { BroadcastChannel } from 'node:worker_threads';
import { afterEach, expect, test } from 'vitest';
import { turnCompleted, user } from '../../testing/events.ts';
import type { Judge } from '../judge.ts';
import { signalsJudge } from './signals.ts';
import { openSignalsThread } from './signals-thread.ts';

const unruly = new URL('./testing/unruly-worker.ts', import.meta.url);
const never = new AbortController().signal;
const timeLimit = () => new DOMException('not done within 10 ms', 'TimeoutError');

const open: Judge[] = [];
const channels: BroadcastChannel[] = [];
afterEach(async () => {
  for (const channel of channels.splice(0)) channel.close();
  for (const judge of open.splice(0)) await judge.close?.();
});

function openJudge(module?: URL) {
  const judge = openSignalsThread(module, 64);
  open.push(judge);
  return (words: string, signal = never) =>
    judge.vote(turnCompleted('t', { next: [user(words)] }).data, 0, signal);
}

/** Resolves when a vote hangs in the thread. */
async function hangs() {
  const channel = new BroadcastChannel('hangs');
  channels.push(channel);
  await once(channel as unknown as EventTarget, 'message');
}

test('the thread gives the verdicts of the rules', async () => {
  const vote = openJudge();
  for (const words of ['Perfect, thanks!', 'No lists, please.', 'What is the capital of France?']) {
    const { cost: _, ...expected } = await signalsJudge.vote(
      turnCompleted('t', { next: [user(words)] }).data,
      0,
      never,
    );
    expect(await vote(words)).toMatchObject(expected);
  }
});

test('a vote that never ends times out, and the next vote is answered', async () => {
  const vote = openJudge(unruly);
  const limit = new AbortController();
  const stuck = vote('hang', limit.signal);
  await hangs(); // and this process goes on
  const waiting = new AbortController();
  const behind = vote('Perfect, thanks!', waiting.signal);
  const last = vote('Perfect, thanks!');
  waiting.abort(timeLimit());
  await expect(behind).rejects.toMatchObject({ name: 'TimeoutError' }); // it did not run: nothing against its turn
  limit.abort(timeLimit());
  await expect(stuck).rejects.toMatchObject({ code: 'vote_overran' });
  expect(await last).toMatchObject({ vote: 1 });
});

test('shutdown does not count against a turn', async () => {
  const vote = openJudge(unruly);
  const shutdown = new AbortController();
  const stuck = vote('hang', shutdown.signal);
  await hangs();
  shutdown.abort(new Error('the worker ends'));
  await expect(stuck).rejects.toThrow('the worker ends');
});

test.each([
  ['die', /code 7/],
  ['fill', /MEMORY/],
  ['fail', /RangeError/],
])('a turn that makes the thread %s is blamed, and the next vote is answered', async (words, reason) => {
  const vote = openJudge(unruly);
  await expect(vote(words)).rejects.toMatchObject({
    code: 'vote_broke',
    message: expect.stringMatching(reason),
  });
  expect(await vote('Perfect, thanks!')).toMatchObject({ vote: 1 });
});

test('a thread that cannot start does not count against a turn', async () => {
  const vote = openJudge(new URL('./no-such-worker.ts', import.meta.url));
  await expect(vote('hello')).rejects.toMatchObject({ code: 'thread_not_started' });
});
