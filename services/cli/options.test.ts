import { expect, test } from 'vitest';
import { readOptions, splitAction, wholeNumber } from './options.ts';

test('without an action the fallback applies, also before flags', () => {
  expect(splitAction([], 'list')).toEqual({ action: 'list', rest: [] });
  expect(splitAction(['--why', '-n', '3'], 'list')).toEqual({ action: 'list', rest: ['--why', '-n', '3'] });
  expect(splitAction(['show', 'x', '--json'], 'list')).toEqual({ action: 'show', rest: ['x', '--json'] });
});

test('a missing number is asked for; another text is quoted', () => {
  expect(wholeNumber('v3', 'VERSION')).toBe(3);
  expect(() => wholeNumber('', 'VERSION')).toThrow('give VERSION, a whole number');
  expect(() => wholeNumber('x', 'VERSION')).toThrow("not 'x'");
});

test('a word that a command does not take is refused', () => {
  expect(readOptions(['a'], {}, 1).words).toEqual(['a']);
  expect(() => readOptions(['a', 'b'], {}, 1)).toThrow("unexpected argument 'b'");
  expect(() => readOptions(['a'], {})).toThrow("unexpected argument 'a'");
});
