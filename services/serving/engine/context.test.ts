import { expect, test } from 'vitest';
import type { ModelConfig } from '../../../shared/policy/model/model-config.ts';
import { contextOf } from './context.ts';

/** 28 layers of 8 heads of 128, keys and values: 224 KiB per position. */
const config = {
  maxPositions: 40_960,
  layers: 28,
  heads: 16,
  keyValueHeads: 8,
  headSize: 128,
} as ModelConfig;

test('the context is limited by the model, the settings and the memory', () => {
  const GiB = 2 ** 30;
  expect(contextOf(config, { contextTokens: undefined, cacheBytes: 16 * GiB })).toEqual({
    tokens: 40_960,
    cachePositions: 74_752,
    note: undefined,
  });
  expect(contextOf(config, { contextTokens: 1000, cacheBytes: 4 * GiB }).tokens).toBe(1000);
  const short = contextOf(config, { contextTokens: undefined, cacheBytes: 4 * GiB });
  expect(short).toMatchObject({ tokens: 18_688, cachePositions: 18_688 });
  expect(short.note).toBe('context limited to 18688 tokens; 40960 tokens need --kv-cache-mib 8960');
  expect(contextOf(config, { contextTokens: undefined, cacheBytes: 8960 * 2 ** 20 }).note).toBeUndefined();
  expect(() => contextOf(config, { contextTokens: undefined, cacheBytes: 2 ** 20 })).toThrow('56');
});
