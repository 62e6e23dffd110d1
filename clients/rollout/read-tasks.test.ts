import { expect, test } from 'vitest';
import { readTasks } from './read-tasks.ts';
import { rolloutSettings } from './settings.ts';

test('a task is named by its id, or by its line number', () => {
  const text = '{"id":"a b/c","q":1}\n\n"just text"\n{"task_id":7}\n';
  expect(readTasks(text, 'x')).toEqual([
    { name: 'a-b-c', data: { id: 'a b/c', q: 1 } },
    { name: 'task-3', data: 'just text' },
    { name: '7', data: { task_id: 7 } },
  ]);
});

test('a line that is not JSON, or an empty file, is refused', () => {
  expect(() => readTasks('{}\n{"a":', 'x.jsonl')).toThrow(/^x\.jsonl:2 is not JSON/);
  expect(() => readTasks('\n', 'x.jsonl')).toThrow('x.jsonl has no tasks');
});

const flags = {
  agent: 'a.ts',
  reward: 'r.ts',
  data: 't.jsonl',
  n: '4',
  concurrency: '2',
  retries: '1',
  seed: '0',
  timeout: '1.5',
  'reward-timeout': '60',
  'room-timeout': '60',
};

test('flags in seconds become settings in ms', () => {
  expect(rolloutSettings(flags)).toMatchObject({
    timeoutMs: 1500,
    rewardTimeoutMs: 60_000,
    n: 4,
    retries: 1,
  });
});

test.each([
  [{ n: '0' }, /--n must be a whole number of 1 or more, not '0'/],
  [{ concurrency: '1.5' }, /--concurrency/],
  [{ timeout: '0' }, /--timeout must be a number of seconds/],
  [{ timeout: '' }, /--timeout/],
  [{ timeout: 'Infinity' }, /--timeout/],
  [{ advantage: 'ppo' }, /mean or grpo/],
  [{ data: undefined }, /--agent/],
])('%j is refused by its name', (wrong, message) => {
  expect(() => rolloutSettings({ ...flags, ...wrong })).toThrow(message);
});
