import { expect, test } from 'vitest';
import { defined } from '../../../shared/lang/defined.ts';
import type { KeyLimits } from '../../../shared/runtime/access-keys.ts';
import { admitAnswer } from './key-limits.ts';
import { createKeyQuota } from './key-quota.ts';

const caller = (limits: KeyLimits) => ({ keyId: 'key-1', limits });
const requestFor = (choices: number, maxTokens?: number, content = 'x'.repeat(40)) => ({
  choices,
  tools: [],
  messages: [{ role: 'user', content } as const],
  sampling: {
    stop: [],
    frequencyPenalty: 0,
    presencePenalty: 0,
    repetitionPenalty: 1,
    logitBias: [],
    ...defined({ maxTokens }),
  },
});
const refused = { name: 'RATE_LIMIT_EXCEEDED', status: 429 };

test('concurrent answers cannot exceed the tokens that are left', () => {
  const quota = createKeyQuota(() => 0);
  const ann = caller({ tokensPerDay: 100 });
  const first = admitAnswer(quota, ann, requestFor(1, 50));
  expect(() => admitAnswer(quota, ann, requestFor(1, 50))).toThrow(expect.objectContaining(refused));
  first.took(20);
  first.took(1000); // once is all that counts
  const second = admitAnswer(quota, ann, requestFor(1, 50));
  second.tookPrompt(); // 11 tokens of it
  expect(() => admitAnswer(quota, ann, requestFor(1, 60))).toThrow(expect.objectContaining(refused));
  admitAnswer(quota, ann, requestFor(1, 50)).took(0);
  admitAnswer(quota, ann, requestFor(1, 50));
});

test('more choices than the key can ever afford are a client error', () => {
  const quota = createKeyQuota(() => 0);
  const ann = caller({ tokensPerMinute: 100 });
  const invalid = { name: 'INVALID_REQUEST', param: 'n' };
  for (const one of [requestFor(8, 20), requestFor(8), requestFor(2, 10, 'x'.repeat(400))])
    expect(() => admitAnswer(quota, ann, one)).toThrow(expect.objectContaining(invalid));
  admitAnswer(quota, ann, requestFor(2, 20)).took(40);
  admitAnswer(
    createKeyQuota(() => 0),
    caller({}),
    requestFor(8, 20_000),
  ).took(40);
});
