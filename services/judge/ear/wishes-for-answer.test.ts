import { expect, test } from 'vitest';
import { wishKinds } from '../../../shared/wishes/wishes.ts';
import type { Heard } from './model.ts';
import { wishesForAnswer } from './wishes-for-answer.ts';

const heard = (some: Partial<Heard['wishes']>): Heard['wishes'] => ({
  ...(Object.fromEntries(wishKinds.map((kind) => [kind, 0])) as Heard['wishes']),
  ...some,
});

const list = 'Hello! Take:\n- a tent\n- a stove';
const prose = 'Take a tent and a stove. Good luck!';

test('a wish that the answer meets counts for its opposite', () => {
  expect(wishesForAnswer(heard({ list: 0.6, 'no-list': 0.1 }), list)).toMatchObject({
    list: 0,
    'no-list': 0.7,
  });
  expect(wishesForAnswer(heard({ list: 0.1, 'no-list': 0.6 }), prose)).toMatchObject({
    list: 0.7,
    'no-list': 0,
  });
  expect(wishesForAnswer(heard({ greeting: 0.9, 'no-greeting': 0.4 }), list)).toMatchObject({
    greeting: 0,
    'no-greeting': 1,
  });
});

test('a wish without an opposite that the answer meets is left out; others stay', () => {
  const wishes = heard({ 'no-emoji': 0.8, shorter: 0.5, steps: 0.3 });
  expect(wishesForAnswer(wishes, prose)).toEqual({ ...wishes, 'no-emoji': 0 });
});

test('where the form of an answer is unclear, what was heard stays', () => {
  const wishes = heard({ list: 0.6, 'no-list': 0.2 });
  expect(wishesForAnswer(wishes, 'Take:\n- a tent')).toMatchObject({ list: 0.6, 'no-list': 0.2 });
  expect(wishesForAnswer(wishes, ' ')).toEqual(wishes);
});
