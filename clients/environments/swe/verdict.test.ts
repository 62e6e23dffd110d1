import { expect, test } from 'vitest';
import { readTestRun, stableTests, type TestRun, verdictOf } from './verdict.ts';

const run = (passed: string, failed = ''): TestRun => ({
  passed: new Set(passed),
  failed: new Map([...failed].map((id) => [id, 'said'])),
});

test('a test that fails in one of the first runs is left out', () => {
  expect(stableTests([run('abc'), run('ab', 'c'), run('abcd')])).toEqual(['a', 'b']);
});

test('a bug breaks tests and leaves others; those that change between runs are in neither list', () => {
  const verdict = verdictOf([...'abcd'], [run('abx', 'cd'), run('ad', 'bc')]);
  expect(verdict).toEqual({ failToPass: ['c'], passToPass: ['a'] });
});

test('a change that breaks no test, or all of them, is no bug', () => {
  expect(verdictOf([...'ab'], [run('ab')])).toBeUndefined();
  expect(verdictOf([...'ab'], [run('', 'ab')])).toBeUndefined();
  expect(verdictOf([...'ab'], [run('')])).toBeUndefined();
});

test('lines of the reporters are read; a test with two outcomes has failed', () => {
  const text = [
    'PASS "a[\\u00e9 \\"x\\"]"',
    'FAIL "b" "assert 1 == 2\\n + more"',
    'PASS "c"',
    'FAIL "c" ""',
    'noise',
  ];
  const { passed, failed } = readTestRun(text.join('\n'));
  expect([...passed]).toEqual(['a[é "x"]']);
  expect([...failed]).toEqual([
    ['b', 'assert 1 == 2\n + more'],
    ['c', ''],
  ]);
});
