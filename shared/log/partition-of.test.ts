import { expect, test } from 'vitest';
import { partitionOf } from './partition-of.ts';

test('the hash is FNV-1a with its published values', () => {
  // Fowler, Noll, Vo: test vectors of the 32-bit FNV-1a.
  expect(partitionOf('', 2 ** 32)).toBe(0x811c9dc5);
  expect(partitionOf('a', 2 ** 32)).toBe(0xe40c292c);
  expect(partitionOf('foobar', 2 ** 32)).toBe(0xbf9cf968);
  expect(partitionOf('Grüße', 2 ** 32)).toBe(0xb8226e38); // over its bytes in UTF-8
});

test('subjects spread over the partitions', () => {
  const counts = [0, 0, 0];
  for (let i = 0; i < 3_000; i += 1) counts[partitionOf(`lane-${i}`, 3)]! += 1;
  for (const count of counts) expect(count).toBeGreaterThan(900);
});
