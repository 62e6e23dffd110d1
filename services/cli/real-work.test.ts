import { expect, test } from 'vitest';
import { demoNote } from './real-work.ts';

test('claw-nano is called a demo when it generates the answers', () => {
  expect(demoNote('claw-nano', 'local')).toMatch(/claw-nano is a demo.*--model/);
  expect(demoNote('claw-nano', 'upstream')).toBeUndefined();
  expect(demoNote('Qwen/Qwen3-1.7B', 'local')).toBeUndefined();
});
