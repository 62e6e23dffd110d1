import { expect, test } from 'vitest';
import { createScratch } from './scratch.ts';

test('scratch memory is reused if the array fits; large memory is freed at once', () => {
  const scratch = createScratch();
  const first = scratch.take(1000);
  expect(first.length).toBe(1000);
  const second = scratch.take(10);
  expect(second.buffer).toBe(first.buffer);
  const large = scratch.take(8 * 2 ** 20);
  expect(first.length).toBe(0);
  expect(large.length).toBe(8 * 2 ** 20);
  expect(scratch.take(4).length).toBe(4);
  expect(large.length).toBe(0);
  scratch.free();
  expect(scratch.take(3)).toEqual(new Float32Array(3));
});
