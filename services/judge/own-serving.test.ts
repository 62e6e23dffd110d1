import { expect, test } from 'vitest';
import { loadConfig } from '../../shared/config/common.ts';
import { JudgeConfig } from '../../shared/config/judge.ts';
import { withServingKey } from './own-serving.ts';

const keyWith = (env: Readonly<Record<string, string>>) => {
  const composed = {
    CLAWLOOP_JUDGE_SERVING_BASE_URL: 'http://serving:8700/v1',
    CLAWLOOP_JUDGE_SERVING_API_KEY: 'key-of-serving',
    CLAWLOOP_JUDGE_OPENAI_BASE_URL: 'http://serving:8700/v1',
    CLAWLOOP_JUDGE_OPENAI_API_KEY: '',
  };
  return withServingKey(loadConfig('judge', JudgeConfig, [], { ...composed, ...env }).values).openaiApiKey;
};

test('the key of serving goes to serving and to no other server', () => {
  expect(keyWith({})).toBe('key-of-serving');
  expect(keyWith({ CLAWLOOP_JUDGE_OPENAI_BASE_URL: 'https://models.example/v1' })).toBeUndefined();
  expect(keyWith({ CLAWLOOP_JUDGE_OPENAI_BASE_URL: 'http://serving:8701/v1' })).toBeUndefined();
});

test('a configured key takes precedence for any server', () => {
  const own = { CLAWLOOP_JUDGE_OPENAI_API_KEY: 'its-own' };
  expect(keyWith(own)).toBe('its-own');
  expect(keyWith({ ...own, CLAWLOOP_JUDGE_OPENAI_BASE_URL: 'https://models.example/v1' })).toBe('its-own');
});
