import { afterEach, expect, test } from 'vitest';
import { loadConfig } from '../../../shared/config/common.ts';
import { JudgeConfig } from '../../../shared/config/judge.ts';
import type { Judge } from './judge.ts';
import { createJudge, createStandIn, examineeOf, isExamined } from './judges.ts';

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

test('the ear judges claw-nano; a larger model judges itself', () => {
  expect(judgeOf({})).toBe('ear');
  expect(judgeOf({ model: 'owner/name' })).toBe('openai');
  expect(judgeOf({ model: 'owner/name', kind: 'ear' })).toBe('ear');
  expect(judgeOf({ kind: 'signals' })).toBe('signals');
});

test('a model takes an exam by default; under auto the ear stands in', () => {
  expect(examined({})).toBe(false);
  expect(examined({ model: 'owner/name' })).toBe(true);
  expect(examined({ kind: 'openai' })).toBe(true);
  expect(examined({ kind: 'openai', exam: false })).toBe(false);
  expect(createStandIn(JudgeConfig.parse({ kind: 'openai' }))).toBeUndefined();
  const standIn = createStandIn(JudgeConfig.parse({ model: 'owner/name' }));
  if (standIn !== undefined) open.push(standIn);
  expect(standIn?.name).toBe('ear');
});

test('a configured judge model takes an exam with the ear as its stand-in', () => {
  const judgeModel = 'owner/judge';
  expect(judgeOf({ judgeModel })).toBe('model');
  expect(judgeOf({ judgeModel, model: 'owner/name' })).toBe('model');
  expect(judgeOf({ judgeModel, kind: 'model' })).toBe('model');
  expect(examined({ judgeModel })).toBe(true);
  expect(examined({ judgeModel, exam: false })).toBe(false);
  expect(examineeOf(JudgeConfig.parse({ judgeModel }))).toMatchObject({
    model: judgeModel,
    asksServer: false,
    advice: { failed: expect.stringContaining('--judge-model,') },
  });
  expect(createStandIn(JudgeConfig.parse({ judgeModel, kind: 'model' }))).toBeUndefined();
  expect(() => judgeOf({ kind: 'model' })).toThrow('--judge-model');
  expect(() => judgeOf({ kind: 'openai', judgeModel })).toThrow('takes no --judge-model');
});

test('the flag and the variable of the judge model have one "judge" in their names', () => {
  const { values } = loadConfig('judge', JudgeConfig, ['--judge-model', 'a/b'], {});
  expect(values).toMatchObject({ judgeModel: 'a/b', model: 'claw-nano' });
  expect(loadConfig('judge', JudgeConfig, [], { CLAWLOOP_JUDGE_MODEL: 'c/d' }).values.judgeModel).toBe('c/d');
});
