import { expect, test } from 'vitest';
import { ServingError } from '../../errors.ts';
import type { Generated } from '../../generation.ts';
import { choiceRequests, choiceSeed, gatherChoices } from './choices.ts';

const sampling = { stop: [], frequencyPenalty: 0, presencePenalty: 0, repetitionPenalty: 1, logitBias: [] };
const request = {
  target: { kind: 'live', adapter: 'default' } as const,
  callsTools: false,
  prompt: { promptIds: [1], maxTokens: 1 },
};
const generated = (version: number) => ({ version }) as Generated;

function gather(count: number) {
  const calls: unknown[] = [];
  const listeners = gatherChoices(count, {
    started: (version) => calls.push(['started', version]),
    chunk: ({ text }, choice) => calls.push([text, choice]),
    generated: (choices) => calls.push(choices.map(({ index }) => index)),
    failed: (error) => calls.push((error as Error).message),
    broken: () => calls.push('broken'),
  });
  return { calls, listeners };
}

test('choice 0 has the seed of the request; other choices have fixed seeds of their own', () => {
  const seedsOf = (seed?: number) =>
    choiceRequests({ ...request, sampling: seed === undefined ? sampling : { ...sampling, seed } }, 4).map(
      (one) => one.sampling.seed,
    );
  expect(seedsOf(7)[0]).toBe(7);
  expect(new Set(seedsOf(7)).size).toBe(4);
  expect(seedsOf(7)).toEqual(seedsOf(7));
  expect(seedsOf(8)[1]).not.toBe(seedsOf(7)[1]);
  expect(seedsOf()).toEqual([undefined, undefined, undefined, undefined]);
  expect(choiceSeed(-3, 1)).toBeGreaterThanOrEqual(0);
});

test('a request starts once, its chunks name their choice, and it ends with all choices in order', () => {
  const { calls, listeners } = gather(2);
  listeners[1]!.started(3);
  listeners[1]!.chunk({ text: 'b', tokens: [] });
  listeners[0]!.started(3);
  listeners[0]!.chunk({ text: 'a', tokens: [] });
  listeners[1]!.generated(generated(3));
  listeners[0]!.generated(generated(3));
  expect(calls).toEqual([
    ['started', 3],
    ['b', 1],
    ['a', 0],
    [0, 1],
  ]);
});

test('choices aborted before they began are missing; if all are, the request fails', () => {
  const some = gather(3);
  some.listeners[2]!.failed(ServingError.STOPPING());
  some.listeners[1]!.generated(generated(0));
  some.listeners[0]!.failed(ServingError.STOPPING());
  expect(some.calls).toEqual([[1]]);
  const none = gather(2);
  for (const listener of none.listeners) listener.failed(ServingError.STOPPING());
  expect(none.calls).toEqual(['The server is stopping.']);
});

test('a failed choice aborts the others, once', () => {
  const { calls, listeners } = gather(3);
  listeners[1]!.failed(new Error('not finite'));
  listeners[0]!.generated(generated(0)); // cut short
  listeners[2]!.failed(ServingError.STOPPING());
  expect(calls).toEqual(['broken', 'not finite']);
});
