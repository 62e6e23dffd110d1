import { expect, test } from 'vitest';
import { createRepeats } from './repeats.ts';

test('a repeated line is shown once a minute, with a count', () => {
  let now = 0;
  const show = createRepeats(() => now);
  expect(show('disk full')).toBe('disk full');
  now = 10_000;
  expect([show('disk full'), show('disk full')]).toEqual([undefined, undefined]);
  expect(show('another')).toBe('another');
  now = 60_000;
  expect(show('disk full')).toBe('disk full (repeated 2 times)');
  now = 130_000;
  expect(show('disk full')).toBe('disk full');
});
