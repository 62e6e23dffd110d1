import { expect, test } from 'vitest';
import { WordsErased } from '../events/words-erased.ts';
import type { ChainHead } from './chain.ts';
import { notedSince } from './erasures.ts';

const erasure = (day: number, first: number, to: number, before: string, after: string) =>
  WordsErased.create({
    id: `erasure/${day}`,
    source: 'test',
    time: `2026-03-0${day}T00:00:00.000Z`,
    data: {
      ...{ scope: 'session', name: 's', key: 'k', by: 'ops', turns: 1, records: 1, rows: 0, versions: [] },
      chains: [{ topic: 'turns', partition: 0, first, to, records: 1, before, after }],
    },
  });
const head = (to: number, link: string, partition = 0): ChainHead => ({
  ...{ topic: 'turns', partition, from: 0 },
  to,
  head: link,
});
const first = erasure(1, 10, 50, 'old', 'new');

test('a head from before the first erased record, after the erasure, or of another partition is compared', () => {
  const heads = [head(10, 'early'), head(60, 'late'), head(30, 'other', 1)];
  expect(notedSince(heads, [first])).toEqual({ comparable: heads, outdated: [] });
  expect(notedSince(heads, [])).toEqual({ comparable: heads, outdated: [] });
});

test('the head of the moment of an erasure is recognised; another one of that place is compared, and fails', () => {
  expect(notedSince([head(50, 'old')], [first])).toEqual({ comparable: [], outdated: [] });
  expect(notedSince([head(50, 'forged')], [first]).comparable).toEqual([head(50, 'forged')]);
  expect(notedSince([head(50, 'new')], [first]).comparable).toEqual([head(50, 'new')]);
});

test('a head between is outdated, and says which erasure replaced it', () => {
  const { comparable, outdated } = notedSince([head(30, 'between')], [first]);
  expect(comparable).toEqual([]);
  expect(outdated).toEqual([expect.stringMatching(/turns\/0 up to 30 .* 2026-03-01/)]);
});

test('a second erasure replaces the head that the first one left', () => {
  const second = erasure(2, 20, 90, 'later', 'latest');
  expect(notedSince([head(50, 'new'), head(50, 'old')], [first, second])).toEqual({
    comparable: [],
    outdated: [],
  });
  expect(notedSince([head(90, 'later')], [first, second])).toEqual({ comparable: [], outdated: [] });
  expect(notedSince([head(70, 'between')], [first, second]).outdated).toHaveLength(1);
});
