import { expect, test } from 'vitest';
import { fitted } from './live-line.ts';

test('a narrow terminal shows the first parts whole', () => {
  const line = 'serving v1  |  1 of 2 samples until the next step  |  3 answers (0 skipped)';
  expect(fitted(line, 200)).toBe(line);
  expect(fitted(line, 60)).toBe('serving v1  |  1 of 2 samples until the next step');
  expect(fitted(line, 20)).toBe('serving v1');
  expect(fitted(line, 7)).toBe('serving');
});
