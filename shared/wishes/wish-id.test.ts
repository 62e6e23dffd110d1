import { expect, test } from 'vitest';
import { contradict, hintsWithout, wishIdsOf } from './wish-id.ts';
import { hintOf, wishes, wishKinds } from './wishes.ts';

test('a known wish is named by its kind, another by its words', () => {
  expect(wishIdsOf(hintOf(['shorter', 'no-list']))).toEqual(['no-list', 'shorter']);
  const [id] = wishIdsOf('Never say please!');
  expect(id).toMatch(/^own:[0-9a-f]{12}$/);
  expect(wishIdsOf('  never say PLEASE')).toEqual([id]);
  expect(wishIdsOf('Never say thanks!')).not.toEqual([id]);
});

test('wishes are removed from hints, and empty hints are dropped', () => {
  const both = hintOf(['no-list', 'shorter']);
  const own = 'Never say please!';
  expect(hintsWithout([both, own], [])).toEqual([both, own]);
  expect(hintsWithout([both, own], ['no-list'])).toEqual([wishes.shorter.hint, own]);
  expect(hintsWithout([both, own], ['no-list', 'shorter'])).toEqual([own]);
  expect(hintsWithout([both, own], wishIdsOf(own))).toEqual([both]);
});

test('contradictions follow the table in both directions', () => {
  expect(contradict('list', 'no-list')).toBe(true);
  expect(contradict('list', 'shorter')).toBe(false);
  expect(contradict('own:0', 'no-list')).toBe(false);
  for (const a of wishKinds)
    for (const b of wishKinds)
      if (contradict(a, b) && a !== 'only-answer' && b !== 'only-answer') expect(contradict(b, a)).toBe(true);
});
