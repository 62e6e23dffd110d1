import { expect, test } from 'vitest';
import type { SampleReady } from '../../shared/events/sample-ready.ts';
import { memoryRows, openDraft } from '../../shared/log/rows.ts';
import { hintOf, type WishKind } from '../../shared/wishes/wishes.ts';
import { sampleReady } from './testing/events.ts';
import { noteWishes, standingWishes } from './wish-record.ts';

type More = Partial<SampleReady['data']>;
type Sample = readonly [id: string, more: More];

/** What a person's samples leave in the record: the wishes in force, and those that were set aside. */
function recordOf(samples: readonly Sample[], rules: 2 | 'earlier' = 2) {
  const rows = memoryRows();
  const wishRules = rules === 2 ? rules : undefined;
  const setAside = samples.flatMap(([id, more]) => {
    const draft = openDraft(rows);
    const noted = noteWishes(draft, sampleReady(id, 's', 0, { key: 'k', ...more }), 12, wishRules);
    rows.apply(draft.changes());
    return noted.changes.filter(({ kind }) => kind === 'set-aside').map(({ wish }) => wish);
  });
  return { standing: standingWishes(openDraft(rows), 'k', 'complaint'), setAside };
}

const minute = (at: number) => `2026-01-01T00:${String(at).padStart(2, '0')}:00.000Z`;
const bad = (id: string, kinds: readonly WishKind[], more: More = {}): Sample => [
  id,
  { verdict: -1, said: minute(0), hints: kinds.length === 0 ? [] : [hintOf(kinds)], ...more },
];
const liked = (id: string): Sample => [id, { verdict: 1, source: 'feedback', said: minute(0) }];
const times = (count: number, one: (index: number) => Sample): readonly Sample[] =>
  Array.from({ length: count }, (_, index) => one(index));

/** A bare complaint, carried back over the three calls that led to the answer. */
const complaintWithCalls = (index: number): readonly Sample[] => [
  bad(`c${index}`, []),
  ...[-0.7, -0.49, -0.343].map((verdict, calls) =>
    bad(`c${index}-${calls}`, [], { verdict, carried: calls + 1, evidence: 'tool' }),
  ),
];

test('a complaint counts once, however many calls it is carried back over', () => {
  const three = [0, 1, 2].flatMap(complaintWithCalls);
  expect(recordOf(three).setAside).toEqual([]);
  const twelve = Array.from({ length: 12 }, (_, index) => index).flatMap(complaintWithCalls);
  expect(recordOf(twelve).setAside).toEqual(['none']);
});

test('failed calls are no complaints, and do not make a wish look met', () => {
  const failed = times(20, (index) => bad(`f${index}`, [], { evidence: 'tool' }));
  expect(recordOf([bad('a', ['no-list']), ...failed])).toEqual({ standing: ['no-list'], setAside: [] });
});

test("a judge's hint on a failed call is no wish, and does not teach one that is set aside", () => {
  const hinted = bad('call', ['emoji'], { evidence: 'tool' });
  expect(recordOf([hinted]).standing).toEqual([]);
  const rows = memoryRows();
  const noted = [...times(12, (index) => bad(`t${index}`, ['emoji'])), hinted].map(([id, more]) => {
    const draft = openDraft(rows);
    const { setAside } = noteWishes(draft, sampleReady(id, 's', 0, { key: 'k', ...more }), 12, 2);
    rows.apply(draft.changes());
    return setAside;
  });
  expect(noted.at(-1)).toEqual(['emoji']);
});

test('a wish that was misheard twice leaves the record once the person liked both answers', () => {
  const heard = [bad('z', ['no-list']), bad('a', ['steps']), bad('b', ['steps'])];
  expect(recordOf(heard).standing).toEqual(['steps']);
  expect(recordOf([...heard, liked('a~1')]).standing).toEqual(['steps']);
  expect(recordOf([...heard, liked('a~1'), liked('b~1')]).standing).toEqual(['no-list']);
  expect(recordOf([...heard, liked('b~1'), liked('a~1')]).standing).toEqual(['no-list']);
});

test('a refuted correction takes its time along', () => {
  const list = (id: string, at: number) => bad(id, ['list'], { said: minute(at) });
  const noList = bad('late', ['no-list'], { said: minute(5) });
  expect(recordOf([list('a', 1), list('b', 9), liked('b~1'), noList]).standing).toEqual(['no-list']);
});

test('two corrections about one answer are taken back together', () => {
  const heard = [bad('z', ['no-list']), bad('a', ['steps']), bad('a~1', ['steps'])];
  expect(recordOf([...heard, liked('a~2')]).standing).toEqual(['no-list']);
});

test('the latest correction of an earlier program can be taken back', () => {
  const rows = memoryRows();
  const note = ([id, more]: Sample, wishRules?: 2) => {
    const draft = openDraft(rows);
    noteWishes(draft, sampleReady(id, 's', 0, { key: 'k', ...more }), 12, wishRules);
    rows.apply(draft.changes());
  };
  note(bad('a', ['steps']));
  note(bad('b', ['steps']), 2);
  note(liked('a~1'), 2);
  note(liked('b~1'), 2);
  expect(standingWishes(openDraft(rows), 'k', 'complaint')).toEqual([]);
});

test('a complaint that is judged late does not make its wish older', () => {
  const list = (id: string, at: number) => bad(id, ['list'], { said: minute(at) });
  const noList = bad('t3', ['no-list'], { said: minute(3) });
  expect(recordOf([list('t5', 5), list('t1', 1), noList]).standing).toEqual(['list']);
  expect(recordOf([list('t1', 1), noList, list('t5', 5)]).standing).toEqual(['list']);
});

test('logs of earlier programs keep their record', () => {
  const record = (samples: readonly Sample[]) => recordOf(samples, 'earlier');
  expect(record([0, 1, 2].flatMap(complaintWithCalls)).setAside).toEqual(['none']);
  const heard = [bad('z', ['no-list']), bad('a', ['steps']), bad('b', ['steps'])];
  expect(record([...heard, liked('b~1'), liked('a~1')]).standing).toEqual(['steps']);
});
