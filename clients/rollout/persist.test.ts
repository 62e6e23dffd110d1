import { expect, test } from 'vitest';
import type { Answer } from '../api-client.ts';
import { persist } from './persist.ts';

const silent: Answer<number> = { kind: 'silent', reason: 'ECONNREFUSED' };
const busy: Answer<number> = { kind: 'refused', status: 503, code: '', message: '', retryAfter: 0.01 };
const gone: Answer<number> = { kind: 'refused', status: 410, code: '', message: '', retryAfter: undefined };

/** Answers one after the other; how often it was asked. */
function script(...answers: readonly Answer<number>[]) {
  let asked = 0;
  return { ask: async () => answers[Math.min(asked++, answers.length - 1)]!, asked: () => asked };
}

test('requests are retried until a restarted server answers', async () => {
  const { ask, asked } = script(silent, busy, { kind: 'answer', value: 7 });
  expect(await persist(ask, new AbortController().signal)).toEqual({ kind: 'answer', value: 7 });
  expect(asked()).toBe(3);
});

test('a lasting refusal is not retried', async () => {
  const { ask, asked } = script(gone, { kind: 'answer', value: 7 });
  expect(await persist(ask, new AbortController().signal)).toBe(gone);
  expect(asked()).toBe(1);
});

test('a stopping rollout does not wait for an unreachable server', async () => {
  const stop = new AbortController();
  const { ask, asked } = script(silent);
  const outcome = persist(ask, stop.signal);
  stop.abort();
  expect(await outcome).toBe(silent);
  expect(asked()).toBeGreaterThan(1); // it had another chance
}, 20_000);
