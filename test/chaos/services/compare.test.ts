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
  given: [{ id: 'a', at: 0, tookMs: 5, text: 'hello', finishReason: 'stop', isRecorded: true }],
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

test('an answer that is in the log once and unchanged is fine', () => {
  expect(compare(record(), ledger({ a: entry() }))).toEqual(fine);
});

test('an answer that was confirmed to a client but is not in the log counts as lost', () => {
  const { lost } = compare(record(), ledger({}, [], []));
  expect(lost).toEqual(['answer a', 'feedback on a', 'end of s']);
});

test.each([
  [{ skipped: 1 }, 'a has 2 outcomes'],
  [{ judged: 2 }, 'a has 2 judgments'],
  [{ ready: 2 }, 'a has 2 samples'],
  [{ batches: ['b', 'c'] }, 'a has 2 ends'],
])('a duplicate is reported: %o', (changes, sentence) => {
  expect(compare(record(), ledger({ a: entry(changes) })).doubled).toEqual([sentence]);
});

test('a record that was appended twice counts once, and the repetition is counted', () => {
  expect(compare(record(), ledger({ a: entry({ records: 3 }) }))).toEqual({ ...fine, repeatedRecords: 2 });
});

test("an answer that differs from the client's copy is reported", () => {
  expect(compare(record(), ledger({ a: entry({ text: 'hell' }) })).changed).toHaveLength(1);
});

test('a failure is excused only while serving was down', () => {
  const outages = [{ from: 10, to: 20 }];
  const failures = [
    { from: 5, to: 11, what: 'killed under it' },
    { from: 21, to: 22, what: 'later' },
  ];
  expect(unexcused(failures, outages).map(({ what }) => what)).toEqual(['later']);
});
