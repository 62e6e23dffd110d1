import { expect, test } from 'vitest';
import { wishes, wishKinds } from '../../shared/wishes/wishes.ts';
import type { Vote } from './judge-rows.ts';
import { acceptedHints, agreementOf, tally } from './tally.ts';

const table: [Vote[], number, number][] = [
  [[1, 1, -1], 1, 1 / 3],
  [[1, -1, 0], 0, 0],
  [[1, null, null], 1, 1],
  [[1, -1], 0, 0],
  [[-1, -1, 1], -1, -1 / 3],
  [[1, 1, 0, -1, null], 1, 1 / 4],
  [[1, 1, -1, -1, 0], 0, 0],
  [[null, null, null], 0, 0],
  [[-1], -1, -1],
  [[], 0, 0],
];

test.each(table)('votes %j give the verdict %d with mean %d', (votes, score, mean) => {
  expect(tally(votes)).toEqual({ score, mean });
});

test('hints are unique, longer than ten characters, and sorted longest first', () => {
  expect(
    acceptedHints(['ten chars.', 'No lists, please.', ' No lists, please. ', 'Use plain sentences, please.']),
  ).toEqual(['Use plain sentences, please.', 'No lists, please.']);
});

test('no hint of a known wish is too short', () => {
  const known = wishKinds.map((kind) => wishes[kind].hint);
  expect(new Set(acceptedHints(known))).toEqual(new Set(known));
});

test('agreement is the share of the most common of several verdicts', () => {
  expect(agreementOf([1, 1, -1])).toBeCloseTo(2 / 3);
  expect(agreementOf([1, 1, null])).toBe(1);
  expect(agreementOf([1])).toBeUndefined();
  expect(agreementOf([1, null])).toBeUndefined();
});
