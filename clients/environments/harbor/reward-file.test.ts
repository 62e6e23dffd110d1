import { expect, test } from 'vitest';
import { combineSteps, reaches, readRewards } from './reward-file.ts';

test('reward.json comes before reward.txt', () => {
  expect(readRewards('{"reward": 0.5, "style": 1}', '1')).toEqual({ reward: 0.5, style: 1 });
  expect(readRewards('0.25', undefined)).toEqual({ reward: 0.25 });
  expect(readRewards('{"accuracy": 0.75}', undefined)).toEqual({ accuracy: 0.75, reward: 0.75 });
  expect(readRewards('{"reward": true}', undefined)).toEqual({ reward: 1 });
  for (const text of ['1', ' 1.0\n', '.5', '5e-1', '+0'])
    expect(readRewards(undefined, text)).toEqual({ reward: Number(text) });
});

test.each([
  [undefined, undefined, 'neither'],
  ['', '1', 'reward.json is empty'],
  ['{', '1', 'neither an object'],
  ['{"a": 1, "b": 2}', undefined, "no number named 'reward'"],
  ['{}', undefined, "no number named 'reward'"],
  ['{"reward": "1"}', undefined, "'reward' is not a finite number"],
  ['{"reward": 1e999}', undefined, "'reward' is not a finite number"],
  ['[1]', undefined, 'neither an object'],
  [undefined, ' \n', 'reward.txt is empty'],
  [undefined, 'nan', 'reward.txt is not a number'],
  [undefined, '1 of 2', 'reward.txt is not a number'],
  [undefined, '0x1', 'reward.txt is not a number'],
])('%j and %j give no reward, and never 0', (json, text, problem) => {
  expect(readRewards(json, text)).toEqual({ problem: expect.stringContaining(problem) });
});

test('steps are averaged, or the last one counts; a step that was never reached earns 0', () => {
  const steps = [{ reward: 1, style: 0.5 }, { reward: 0.5 }];
  expect(combineSteps('mean', steps, 0)).toEqual({ reward: 0.75, style: 0.25 });
  expect(combineSteps('mean', steps, 2)).toEqual({ reward: 0.375, style: 0.125 });
  expect(combineSteps('final', steps, 0)).toEqual({ reward: 0.5 });
  expect(combineSteps('final', steps, 1)).toEqual({ reward: 0 });
});

test('the next step begins when each reward reaches its threshold', () => {
  expect(reaches({ reward: 0.5 }, undefined)).toBe(true);
  expect(reaches({ reward: 0.5 }, 0.5)).toBe(true);
  expect(reaches({ reward: 0.5 }, 0.6)).toBe(false);
  expect(reaches({ reward: 1 }, { reward: 1, style: 0 })).toBe(false);
});
