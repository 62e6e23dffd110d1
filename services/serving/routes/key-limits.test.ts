import { expect, test } from 'vitest';
import type { KeyLimits } from '../../../shared/service/access-keys.ts';
import { createKeyQuota } from '../key-quota.ts';
import { admitAnswer } from './key-limits.ts';

const caller = (limits: KeyLimits) => ({ keyId: 'key-1', limits });
const asked = (choices: number, maxTokens?: number, content = 'x'.repeat(40)) => ({
  ...{ choices, tools: [], messages: [{ role: 'user', content } as const] },
  sampling: {
    ...{ stop: [], frequencyPenalty: 0, presencePenalty: 0, repetitionPenalty: 1, logitBias: [] },
    ...(maxTokens === undefined ? {} : { maxTokens }),
  },
});
const refused = { name: 'RATE_LIMIT_EXCEEDED', status: 429 };

test('answers that come together take no more than there is', () => {
  const quota = createKeyQuota(() => 0);
  const ann = caller({ tokensPerDay: 100 });
  const first = admitAnswer(quota, ann, asked(1, 50));
  expect(() => admitAnswer(quota, ann, asked(1, 50))).toThrow(expect.objectContaining(refused));
  first.took(20);
  first.took(1000); // once is all that counts
  const second = admitAnswer(quota, ann, asked(1, 50));
  second.tookPrompt(); // 11 tokens of it
  expect(() => admitAnswer(quota, ann, asked(1, 60))).toThrow(expect.objectContaining(refused));
  admitAnswer(quota, ann, asked(1, 50)).took(0);
  admitAnswer(quota, ann, asked(1, 50));
});

test("so many choices that the key never has room for them are the client's to mend", () => {
  const quota = createKeyQuota(() => 0);
  const ann = caller({ tokensPerMinute: 100 });
  const invalid = { name: 'INVALID_REQUEST', param: 'n' };
  for (const one of [asked(8, 20), asked(8), asked(2, 10, 'x'.repeat(400))])
    expect(() => admitAnswer(quota, ann, one)).toThrow(expect.objectContaining(invalid));
  admitAnswer(quota, ann, asked(2, 20)).took(40);
  admitAnswer(
    createKeyQuota(() => 0),
    caller({}),
    asked(8, 20_000),
  ).took(40);
});
