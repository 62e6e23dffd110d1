import { expect, test } from 'vitest';
import { compare } from './compare.ts';
import { type CrowdRecord, unexcused } from './crowd-record.ts';
import type { Ledger } from './ledger.ts';

type Entry = Ledger['entries'] extends ReadonlyMap<string, infer One> ? One : never;

const entry = (changes: Partial<Entry> = {}): Entry => ({
  records: 1,
  live: true,
  text: 'hello',
  finishReason: 'stop',
  completed: 1,
  skipped: 0,
  tooLate: false,
  judged: 1,
  ready: 1,
  dropped: 0,
  batches: ['b'],
  ...changes,
});
const record = (changes: Partial<CrowdRecord> = {}): CrowdRecord => ({
  given: [{ id: 'a', at: 0, text: 'hello', finishReason: 'stop', isRecorded: true }],
  failures: [],
  feedback: ['a'],
  ended: ['s'],
  unanswered: [],
  ...changes,
});
const ledger = (entries: Readonly<Record<string, Entry>>, feedback = ['a'], ended = ['s']) => ({
  entries: new Map(Object.entries(entries)),
  feedbackOn: new Set(feedback),
  endedSessions: new Set(ended),
});
const fine = { lost: [], doubled: [], changed: [], unrecorded: 0, repeatedRecords: 0 };

test('what stands in the log once, as it was given, is fine', () => {
  expect(compare(record(), ledger({ a: entry() }))).toEqual(fine);
});

test('what a client was told is kept and the log has not is lost', () => {
  const { lost } = compare(record(), ledger({}, [], []));
  expect(lost).toEqual(['answer a', 'feedback on a', 'end of s']);
});

test.each([
  [{ skipped: 1 }, 'a has 2 outcomes'],
  [{ judged: 2 }, 'a has 2 judgments'],
  [{ ready: 2 }, 'a has 2 samples'],
  [{ batches: ['b', 'c'] }, 'a has 2 ends'],
])('what counts twice is told: %o', (changes, sentence) => {
  expect(compare(record(), ledger({ a: entry(changes) })).doubled).toEqual([sentence]);
});

test('a fact that was appended again counts once, and is counted', () => {
  expect(compare(record(), ledger({ a: entry({ records: 3 }) }))).toEqual({ ...fine, repeatedRecords: 2 });
});

test('other words than those that the client saw are told', () => {
  expect(compare(record(), ledger({ a: entry({ text: 'hell' }) })).changed).toHaveLength(1);
});

test('a failure is excused where serving was away, and nowhere else', () => {
  const outages = [{ from: 10, to: 20 }];
  const failures = [
    { from: 5, to: 11, what: 'killed under it' },
    { from: 21, to: 22, what: 'later' },
  ];
  expect(unexcused(failures, outages).map(({ what }) => what)).toEqual(['later']);
});
