import { expect, test } from 'vitest';
import { ServingError } from '../errors.ts';
import { choiceRequests, choiceSeed, gatherChoices } from './choices.ts';
import type { Generated } from './engine.ts';

const sampling = { stop: [], frequencyPenalty: 0, presencePenalty: 0, repetitionPenalty: 1, logitBias: [] };
const request = {
  target: { kind: 'live', adapter: 'default' } as const,
  callsTools: false,
  prompt: { promptIds: [1], maxTokens: 1 },
};
const generated = (version: number) => ({ version }) as Generated;

function gather(count: number) {
  const told: unknown[] = [];
  const listeners = gatherChoices(count, {
    started: (version) => told.push(['started', version]),
    chunk: ({ text }, choice) => told.push([text, choice]),
    generated: (choices) => told.push(choices.map(({ index }) => index)),
    failed: (error) => told.push((error as Error).message),
    broken: () => told.push('broken'),
  });
  return { told, listeners };
}

test('choice 0 is what a request for one gets; each other one has a seed of its own, always the same', () => {
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

test('a request starts once, its chunks name their choice, and it ends with all of them in order', () => {
  const { told, listeners } = gather(2);
  listeners[1]!.started(3);
  listeners[1]!.chunk({ text: 'b', tokens: [] });
  listeners[0]!.started(3);
  listeners[0]!.chunk({ text: 'a', tokens: [] });
  listeners[1]!.generated(generated(3));
  listeners[0]!.generated(generated(3));
  expect(told).toEqual([
    ['started', 3],
    ['b', 1],
    ['a', 0],
    [0, 1],
  ]);
});

test('choices that were given up before they began are missing; where all were, the request fails', () => {
  const some = gather(3);
  some.listeners[2]!.failed(ServingError.STOPPING());
  some.listeners[1]!.generated(generated(0));
  some.listeners[0]!.failed(ServingError.STOPPING());
  expect(some.told).toEqual([[1]]);
  const none = gather(2);
  for (const listener of none.listeners) listener.failed(ServingError.STOPPING());
  expect(none.told).toEqual(['The server is stopping.']);
});

test('one that fails takes the others with it, once', () => {
  const { told, listeners } = gather(3);
  listeners[1]!.failed(new Error('not finite'));
  listeners[0]!.generated(generated(0)); // cut short
  listeners[2]!.failed(ServingError.STOPPING());
  expect(told).toEqual(['broken', 'not finite']);
});
