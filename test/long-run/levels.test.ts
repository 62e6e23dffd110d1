import { expect, test } from 'vitest';
import { levelsOf } from './levels.ts';
import { type Reading, tableHead, tableRow } from './readings.ts';
import { type LongRunReport, violationsOf } from './verdict.ts';

const reading = (hour: number, changes: Partial<Reading> = {}): Reading => ({
  hour,
  memory: { serving: 400, collector: 90, judge: 80, trainer: 500, console: 90 },
  disk: { log: 60, checkpoints: 300, backups: 400, other: 5 },
  answers: 40,
  medianMs: 300,
  p95Ms: 900,
  load: 1,
  rows: 5_000,
  lanes: 300,
  records: { conversations: 5_000, turns: 5_000, training: 2_000 },
  recordMib: { conversations: 10, turns: 10, training: 10 },
  ...changes,
});
const days = (changesAt: (hour: number) => Partial<Reading> = () => ({})): readonly Reading[] =>
  Array.from({ length: 72 }, (_, index) => reading(index + 1, changesAt(index + 1)));
const notLevel = (readings: readonly Reading[]) =>
  levelsOf(readings)
    .filter(({ growth, allowed }) => growth > allowed)
    .map(({ name }) => name);

test('level series pass, also with restarts, an hour of high load and a growing first day', () => {
  expect(levelsOf(days()).length).toBeGreaterThan(10);
  expect(notLevel(days())).toEqual([]);
  const saw = (hour: number) => ({ memory: { ...reading(0).memory, serving: 350 + (hour % 12) * 10 } });
  expect(notLevel(days(saw))).toEqual([]);
  expect(notLevel(days((hour) => (hour === 60 ? { medianMs: 9_000, p95Ms: 30_000 } : {})))).toEqual([]);
  expect(notLevel(days((hour) => ({ rows: Math.min(hour, 54) * 200 })))).toEqual([]);
  expect(notLevel(days((hour) => ({ load: 5, medianMs: hour * 100 })))).toEqual([]);
});

test.each([
  ['memory of judge, MiB', (hour: number) => ({ memory: { judge: 80 + hour * 3 } })],
  ['records of turns, MiB', (hour: number) => ({ recordMib: { conversations: 10, turns: hour / 3 - 15 } })],
  ['rows', (hour: number) => ({ rows: hour * 100 - 4_000 })],
  ['lanes', (hour: number) => ({ lanes: hour * 5 - 200 })],
  ['median of an answer, ms', (hour: number) => ({ medianMs: 100 + hour * 10 })],
  ['other files, MiB', (hour: number) => ({ disk: { ...reading(0).disk, other: hour } })],
] as const)('a steady growth shows: %s', (name, changesAt) => {
  expect(notLevel(days(changesAt))).toEqual([name]);
});

test('a run that ends before the first days are over is not judged for its levels', () => {
  expect(levelsOf(days((hour) => ({ rows: hour * 100 })).slice(0, 40))).toEqual([]);
});

const passed: LongRunReport = {
  lost: [],
  doubled: [],
  changed: [],
  unrecorded: 0,
  repeatedRecords: 3,
  hours: 72,
  people: 200,
  readings: days(),
  answers: 3_000,
  excused: 12,
  failed: [],
  unanswered: [],
  acts: { trim: 12 },
  refused: [],
  crashes: [],
  ends: ['serving: exit 0'],
  audit: 'balances',
  restored: 'balances',
  versions: 20,
  trimmed: 9_000,
  seconds: 4_400,
};

test('a run passes only if nothing went wrong', () => {
  expect(violationsOf(passed)).toEqual([]);
  const wrong: readonly Partial<LongRunReport>[] = [
    { lost: ['answer a'] },
    { doubled: ['a has 2 judgments'] },
    { changed: ['a'] },
    { unrecorded: 1 },
    { failed: [{ from: 0, to: 1, what: '500' }] },
    { unanswered: ['chat'] },
    { refused: ['trim: exit 1'] },
    { crashes: ['judge: exit 1'] },
    { ends: ['judge: exit 1'] },
    { audit: 'a turn has no outcome' },
    { restored: 'a file is missing' },
    { readings: days().slice(0, 50) },
    { readings: days((hour) => ({ rows: hour * 100 - 4_000 })) },
  ];
  for (const changes of wrong) expect(violationsOf({ ...passed, ...changes })).toHaveLength(1);
});

test('an hour is one row under the head of the table', () => {
  const [head] = tableHead().split('\n');
  const row = tableRow(reading(7));
  expect(row.split('|')).toHaveLength(head!.split('|').length);
  expect(row).toContain('| 7 | 40 | 300 | 900 | 1.0 | 400 |');
});
