import { expect, test } from 'vitest';
import { isRunning } from './is-running.ts';
import { isObject, parseJson } from './json.ts';
import { mean, sum } from './numbers.ts';
import { shortHash } from './short-hash.ts';

test('text that is not JSON parses to undefined', () => {
  expect(parseJson('{"a":1}')).toEqual({ a: 1 });
  expect(parseJson('null')).toBeNull();
  expect(parseJson('{"a":')).toBeUndefined();
});

test('an object has members; null and arrays are none', () => {
  expect([{}, { a: 1 }, [], null, 'text', 1, undefined].map(isObject)).toEqual([
    true,
    true,
    false,
    false,
    false,
    false,
    false,
  ]);
});

test('a sum takes any iterable', () => {
  expect(sum([])).toBe(0);
  expect(sum(new Set([1, 2]))).toBe(3);
  expect(sum(Float32Array.of(0.5, 0.25))).toBe(0.75);
  expect(mean([1, 2, 6])).toBe(3);
});

test('a short hash is 24 hex digits of SHA-256', () => {
  expect(shortHash('')).toBe('e3b0c44298fc1c149afbf4c8');
});

test('this process runs, and no process has the largest number', () => {
  expect(isRunning(process.pid)).toBe(true);
  expect(isRunning(2 ** 31 - 1)).toBe(false);
});
