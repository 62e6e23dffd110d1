import { afterEach, expect, test } from 'vitest';
import { JudgeConfig } from '../config.ts';
import type { Judge } from './judge.ts';
import { createJudge, createStandIn, isExamined } from './judges.ts';

const open: Judge[] = [];
afterEach(async () => {
  for (const judge of open.splice(0)) await judge.close?.();
});
const judgeOf = (settings: Partial<JudgeConfig>) => {
  const judge = createJudge(JudgeConfig.parse(settings));
  open.push(judge);
  return judge.name;
};
const examined = (settings: Partial<JudgeConfig>) => isExamined(JudgeConfig.parse(settings));

test('claw-nano gets the ear, a model that can judge judges for itself', () => {
  expect(judgeOf({})).toBe('ear');
  expect(judgeOf({ model: 'owner/name' })).toBe('openai');
  expect(judgeOf({ model: 'owner/name', kind: 'ear' })).toBe('ear');
  expect(judgeOf({ kind: 'signals' })).toBe('signals');
});

test('a model is examined unless told otherwise, with the ear in its place where nobody chose it', () => {
  expect(examined({})).toBe(false);
  expect(examined({ model: 'owner/name' })).toBe(true);
  expect(examined({ kind: 'openai' })).toBe(true);
  expect(examined({ kind: 'openai', exam: false })).toBe(false);
  expect(createStandIn(JudgeConfig.parse({ kind: 'openai' }))).toBeUndefined();
  const standIn = createStandIn(JudgeConfig.parse({ model: 'owner/name' }));
  if (standIn !== undefined) open.push(standIn);
  expect(standIn?.name).toBe('ear');
});
