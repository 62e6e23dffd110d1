import fc from 'fast-check';
import { expect, test } from 'vitest';
import { memoryRows, openDraft } from './rows.ts';

const key = fc.stringMatching(/^[ab]{1,2}(\/[a-c]{0,2}){0,2}$/);

test('rows in memory answer as a plain sorted list of pairs would', () => {
  const change = fc.record({ key, row: fc.option(fc.integer(), { nil: undefined }) });
  fc.assert(
    fc.property(
      fc.array(change),
      key,
      fc.constantFrom('', 'a', 'a/', 'ab/', 'a/b', 'b/a/'),
      (changes, asked, prefix) => {
        const rows = memoryRows();
        const plain: Record<string, number> = {};
        for (const { key: changed, row } of changes) {
          rows.apply([{ key: changed, row }]);
          if (row === undefined) delete plain[changed];
          else plain[changed] = row;
        }
        const expected = Object.entries(plain).sort(([a], [b]) => (a < b ? -1 : 1));
        expect(rows.get(asked)).toBe(plain[asked]);
        expect([...rows.entries(prefix)]).toEqual(expected.filter(([found]) => found.startsWith(prefix)));
        expect(rows.size()).toBe(expected.length);
      },
    ),
    { seed: 7 },
  );
});

test('a draft reads its own changes and leaves the underlying rows unchanged', () => {
  const rows = memoryRows([
    ['t/b', 1],
    ['t/c', 2],
    ['u/a', 3],
  ]);
  const draft = openDraft(rows);
  const table = draft.table<number>('t');
  table.set('a', 0);
  table.delete('c');
  expect([...table.entries()]).toEqual([
    ['a', 0],
    ['b', 1],
  ]);
  expect(table.get('c')).toBeUndefined();
  expect(rows.get('t/c')).toBe(2);
  rows.apply(draft.changes());
  expect([...rows.entries('')]).toEqual([
    ['t/a', 0],
    ['t/b', 1],
    ['u/a', 3],
  ]);
});
