import { expect, test } from 'vitest';
import { baseMismatch } from './base-mismatch.ts';

test('a version is compared only with the model that it was trained on, and names it', () => {
  const trained = { model: './mine', baseDigest: 'a' };
  expect(baseMismatch(trained, { model: '/home/me/mine', digest: 'a' })).toBeUndefined();
  expect(baseMismatch(trained, { model: 'claw-nano', digest: 'b' })).toContain('pass --model ./mine');
  expect(baseMismatch(trained, { model: './mine', digest: 'b' })).toContain('a different copy of ./mine');
});
