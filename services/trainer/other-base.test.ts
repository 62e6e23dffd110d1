import { expect, test } from 'vitest';
import { otherBase } from './other-base.ts';

test('a version is compared on the model alone that it was trained on, and says which that is', () => {
  const trained = { model: './mine', baseDigest: 'a' };
  expect(otherBase(trained, { model: '/home/me/mine', digest: 'a' })).toBeUndefined();
  expect(otherBase(trained, { model: 'claw-nano', digest: 'b' })).toContain('give --model ./mine');
  expect(otherBase(trained, { model: './mine', digest: 'b' })).toContain('another ./mine');
});
