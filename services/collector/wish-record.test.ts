import { expect, test } from 'vitest';
import type { SampleReady } from '../../shared/events/sample-ready.ts';
import { memoryRows, openDraft } from '../../shared/log/rows.ts';
import { createRandom } from '../../shared/policy/model/random.ts';
import { hintOf, wishes } from '../../shared/wishes/wishes.ts';
import { sampleReady } from './testing/events.ts';
import { improves, type NotedWishes, noteWishes } from './wish-record.ts';

const PATIENCE = 12;
type More = Partial<SampleReady['data']>;

/** Notes samples one after the other and returns the result of each. */
function person() {
  const rows = memoryRows();
  let notes = 0;
  const note = (more: More): NotedWishes => {
    const draft = openDraft(rows);
    notes += 1;
    const noted = noteWishes(draft, sampleReady(`t${notes}`, 's', 0, more), PATIENCE);
    rows.apply(draft.changes());
    return noted;
  };
  return {
    tell: note,
    complain: (hint: string, more: More = {}) => note({ verdict: -1, hints: [hint], ...more }),
    praise: (more: More = {}) => note({ verdict: 1, ...more }),
  };
}
const emoji = wishes.emoji.hint;
const times = <T>(count: number, one: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, index) => one(index));
const kinds = (noted: readonly NotedWishes[]) =>
  noted.flatMap(({ changes }) => changes.map(({ kind }) => kind));

test('a wish that is never met is set aside at its twelfth correction, reported once', () => {
  const { complain } = person();
  const noted = times(20, () => complain(emoji));
  expect(noted.findIndex(({ setAside }) => setAside.length > 0)).toBe(PATIENCE - 1);
  expect(noted.slice(PATIENCE - 1).every(({ setAside }) => setAside[0] === 'emoji')).toBe(true);
  expect(noted.flatMap(({ changes }) => changes)).toEqual([
    { wish: 'emoji', kind: 'set-aside', corrections: 12, good: 0 },
  ]);
});

test('the same holds for free-form hints and for complaints without a wish', () => {
  const { complain, tell } = person();
  expect(kinds(times(12, () => complain('Never say please!')))).toEqual(['set-aside']);
  expect(kinds(times(12, () => tell({ verdict: -1 })))).toEqual(['set-aside']);
});

test('a wish that is learned is not set aside, however often it is made', () => {
  for (const seed of [1, 2, 3, 4, 5]) {
    const random = createRandom(`learned/${seed}`);
    const { complain, praise } = person();
    // Praise rises from one in five to nearly all within sixty answers.
    const noted = times(120, (index) =>
      random() < Math.min(0.95, 0.2 + index / 60) ? praise() : complain(wishes.shorter.hint),
    );
    expect(kinds(noted)).toEqual([]);
  }
});

test('with one false verdict in seven, unlearnable wishes are set aside within 30 answers', () => {
  for (const seed of [1, 2, 3, 4, 5]) {
    const random = createRandom(`false/${seed}`);
    const { complain, praise } = person();
    const noted = times(40, () => (random() < 0.15 ? praise() : complain(emoji)));
    const at = noted.findIndex(({ setAside }) => setAside.length > 0);
    expect(at).toBeGreaterThan(0);
    expect(at).toBeLessThan(30);
  }
});

test('it is taken up again when answers are praised, later every time', () => {
  const { complain, praise } = person();
  times(12, () => complain(emoji));
  expect(kinds(times(3, () => praise()))).toEqual(['praised']);
  expect(kinds(times(12, () => complain(emoji)))).toEqual(['set-aside']);
  expect(kinds(times(3, () => praise()))).toEqual([]);
  expect(kinds([praise()])).toEqual(['praised']);
});

test('an older version, or a complaint after a long quiet, takes it up again', () => {
  const { complain, praise, tell } = person();
  times(12, () => complain(emoji, { version: 7 }));
  expect(kinds([complain(emoji, { version: 3 })])).toEqual(['older-version']);
  times(11, () => complain(emoji, { version: 7 }));
  // Another wish is not praise.
  expect(kinds(times(20, () => tell({ verdict: -1, hints: [wishes.shorter.hint], version: 7 })))).toEqual([
    'set-aside',
  ]);
  expect(kinds([complain(emoji, { version: 7 })])).toEqual(['came-back']);
  expect(kinds([praise({ version: 7 })])).toEqual([]);
});

test('a wish replaces one that it contradicts', () => {
  const { complain } = person();
  times(12, () => complain(emoji));
  complain(wishes['no-emoji'].hint);
  expect(complain(emoji)).toMatchObject({ named: ['emoji'], setAside: [], changes: [] });
});

test('of several wishes, those that are learned stay', () => {
  const { complain, praise } = person();
  times(12, () => complain(emoji));
  praise();
  expect(complain(hintOf(['emoji', 'shorter']))).toMatchObject({
    named: ['shorter', 'emoji'],
    setAside: ['emoji'],
  });
});

test("rewards and mean votes are not a person's verdicts", () => {
  const { tell } = person();
  const noted = times(20, () => tell({ verdict: -1, source: 'reward' }));
  expect(kinds([...noted, ...times(20, () => tell({ verdict: -1, soft: true }))])).toEqual([]);
});

test('two people do not share a record', () => {
  const { complain } = person();
  times(12, (index) => complain(emoji, { key: index % 2 === 0 ? 'a' : 'b' }));
  expect(complain(emoji, { key: 'a' }).setAside).toEqual([]);
});

test.each([
  ['------------', false],
  ['------+-----', true],
  ['-----------+--', true],
  ['-+---------------+---------', false],
  ['-+--+--+--+--', true],
  ['+-+-+---------', false],
])('%s improves: %s', (course, isSo) => {
  expect(improves(course)).toBe(isSo);
});
