import { expect, test } from 'vitest';
import type { KeyLimits } from '../../../shared/runtime/access-keys.ts';
import { createKeyQuota } from './key-quota.ts';

const quotaAt = () => {
  let ms = 1_000_000;
  const quota = createKeyQuota(() => ms);
  const wait = (seconds: number) => {
    ms += seconds * 1000;
  };
  return { quota, wait };
};
const caller = (limits: KeyLimits, keyId = 'key-1') => ({ keyId, limits });

test('requests per minute: a burst, then an even rate; refused requests do not count', () => {
  const { quota, wait } = quotaAt();
  const ann = caller({ requestsPerMinute: 3 });
  expect([1, 2, 3].map(() => quota.admit(ann))).toEqual([undefined, undefined, undefined]);
  expect(quota.admit(ann)).toEqual({ limit: '3 requests per minute', retryAfterSeconds: 20 });
  expect(quota.admit(ann)?.retryAfterSeconds).toBe(20);
  wait(15);
  expect(quota.admit(ann)?.retryAfterSeconds).toBe(5);
  wait(5);
  expect(quota.admit(ann)).toBeUndefined();
  expect(quota.admit(ann)?.retryAfterSeconds).toBe(20);
  wait(600);
  expect([1, 2, 3, 4].map(() => quota.admit(ann) === undefined)).toEqual([true, true, true, false]);
});

test('tokens: an answer that used more than was left delays the next request', () => {
  const { quota, wait } = quotaAt();
  const ann = caller({ tokensPerMinute: 600 });
  expect(quota.admit(ann)).toBeUndefined();
  quota.spend(ann.keyId, 1199);
  expect(quota.admit(ann)).toEqual({ limit: '600 tokens per minute', retryAfterSeconds: 60 });
  wait(60);
  expect(quota.admit(ann)).toBeUndefined();
});

test('of several limits, the longest wait is reported; keys have separate limits', () => {
  const { quota } = quotaAt();
  const ann = caller({ requestsPerMinute: 1, tokensPerDay: 100 });
  expect(quota.admit(ann)).toBeUndefined();
  quota.spend(ann.keyId, 100);
  expect(quota.admit(ann)).toEqual({ limit: '100 tokens per day', retryAfterSeconds: 864 });
  expect(quota.admit(caller({ requestsPerMinute: 1 }, 'key-2'))).toBeUndefined();
});

test('a key without limits is never refused', () => {
  const { quota } = quotaAt();
  for (let request = 0; request < 1000; request++) {
    expect(quota.admit(caller({}))).toBeUndefined();
    quota.spend('key-1', 1_000_000);
  }
});

test('requests other than for answers have a separate limit for every key', () => {
  let ms = 0;
  const quota = createKeyQuota(() => ms, 10);
  const many = (key: ReturnType<typeof caller>, count: number) =>
    Array.from({ length: count }, () => quota.admitOther(key)).filter((usedUp) => usedUp === undefined)
      .length;
  const [ann, bob] = [caller({ requestsPerMinute: 2 }), caller({}, 'key-2')];
  expect([many(ann, 30), many(bob, 30)]).toEqual([8, 10]);
  expect(quota.admitOther(ann)).toEqual({
    limit: '8 requests per minute other than for answers',
    retryAfterSeconds: 8,
  });
  expect(quota.admit(ann)).toBeUndefined();
  ms += 60_000;
  expect(many(bob, 30)).toBe(10);
});

test('refused requests end the limit, but run up no debt', () => {
  let ms = 0;
  const quota = createKeyQuota(() => ms, 10);
  const ann = caller({});
  for (let request = 0; request < 1000; request++) quota.refused(ann);
  expect(quota.admitUnread(ann)).toEqual({ limit: '10 refused requests per minute', retryAfterSeconds: 6 });
  ms += 6_000;
  expect(quota.admitUnread(ann)).toBeUndefined();
});

test('tokens are reserved before an answer and settled after it', () => {
  const { quota, wait } = quotaAt();
  const ann = caller({ tokensPerMinute: 600 });
  expect(quota.admit(ann, 400)).toBeUndefined();
  expect(quota.admit(ann, 400)).toEqual({ limit: '600 tokens per minute', retryAfterSeconds: 20 });
  expect(quota.admit(ann, 200)).toBeUndefined();
  quota.spend(ann.keyId, 100 - 400);
  expect(quota.admit(ann, 300)).toBeUndefined();
  wait(60);
  // A request above the whole quota is admitted when the quota is full.
  expect(quota.admit(ann, 5000)).toBeUndefined();
  expect(quota.admit(ann, 5000)).toMatchObject({ limit: '600 tokens per minute' });
});
