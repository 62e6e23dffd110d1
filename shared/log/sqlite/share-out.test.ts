import { expect, test } from 'vitest';
import { targetOf } from './share-out.ts';

test('every partition belongs to exactly one member, and shares differ by at most one', () => {
  for (let partitions = 1; partitions <= 7; partitions += 1) {
    for (let count = 1; count <= 9; count += 1) {
      for (const subscription of [1, 2, 5]) {
        const members = Array.from({ length: count }, (_, n) => ({ member: `m${n}` }));
        const targets = members.map(({ member }) => targetOf(member, subscription, members, partitions));
        const all = targets.flatMap((target) => [...target]).sort((a, b) => a - b);
        expect(all).toEqual(Array.from({ length: partitions }, (_, partition) => partition));
        const sizes = targets.map(({ size }) => size);
        expect(Math.max(...sizes) - Math.min(...sizes)).toBeLessThanOrEqual(1);
      }
    }
  }
});

test('a process that is not a member gets no partition', () => {
  expect(targetOf('stranger', 1, [{ member: 'm' }], 3)).toEqual(new Set());
});
