import { expect, test } from 'vitest';
import { isAlike, systemSketch } from './system-sketch.ts';

const alike = (one: string, other: string) => isAlike(systemSketch(one), systemSketch(other));
const rules =
  'You are a careful assistant of a small library. Help people to find books, renew loans and reserve rooms.';

test('the same text with another date, hour or model is alike', () => {
  expect(
    alike(`Today is Friday, 20 November 2026. ${rules}`, `Today is Saturday, 21 November 2026. ${rules}`),
  ).toBe(true);
  expect(alike(`${rules} It is 10:31 PM.`, `${rules} It is 9:02 AM.`)).toBe(true);
});

test('another task is another text, and no text is only like no text', () => {
  expect(alike(rules, 'Generate a short title for the conversation that the user gives you.')).toBe(false);
  expect(alike('You are helpful.', 'Name this chat.')).toBe(false);
  expect(alike('', rules)).toBe(false);
  expect(alike('', '123')).toBe(true);
});

test('the estimate follows the share of common words of long texts', () => {
  const words = (from: number, to: number) =>
    Array.from(
      { length: to - from },
      (_, i) => `w${String.fromCharCode(97 + ((from + i) % 26))}${'x'.repeat((from + i) / 26)}`,
    ).join(' ');
  expect(alike(words(0, 300), words(30, 330))).toBe(true); // 270 of 330 in common
  expect(alike(words(0, 300), words(240, 540))).toBe(false); // 60 of 540
});
