import { expect, test } from 'vitest';
import { parseVerdict } from './parse-verdict.ts';

test.each([
  ['The person said thanks.\n\\boxed{1}', 1],
  ['\\boxed{-1}', -1],
  ['\\boxed{0}', 0],
  ['\\boxed{ 1 }', 1],
  ['\\boxed{+1}', 1],
  ['\\boxed{−1}', -1],
  ['first \\boxed{1}, no: \\boxed{-1}', -1],
  ['\\boxed{1} and then \\boxed{2}', null],
  ['\\boxed{-1} and then \\boxed{\\text{1}}', null],
  ['\\boxed{1.0}', null],
  ['\\boxed{10}', null],
  ['\\boxed{}', null],
  ['\\boxed{1', null],
  ['\\boxed{yes}', null],
  ['boxed{1}', null],
  ['1', null],
  ['Grade: -1', null],
  ['', null],
  ['<think>maybe \\boxed{1}</think>It failed. \\boxed{-1}', -1],
  ['<think>maybe \\boxed{1}</think>I cannot tell.', null],
  ['<think>maybe \\boxed{1} and then it was cut off', null],
  ['maybe \\boxed{1}</think>\\boxed{0}', 0],
  ['| boxed (1}\nechoed; \\boxed{-1}', -1],
])('%j is %s', (output, vote) => {
  expect(parseVerdict(output)).toBe(vote);
});
