import { expect, test } from 'vitest';
import type { Manifest } from './manifest.ts';
import type { Point } from './point-source.ts';
import { surplusPoints } from './points.ts';

const good = (id: string): Point => ({ id, manifest: {} as Manifest });
const damaged = (id: string): Point => ({ id, damage: 'the digest differs' });

test('the latest readable points stay', () => {
  expect(surplusPoints([good('1'), good('2'), good('3')], 2)).toEqual(['1']);
  expect(surplusPoints([good('1'), good('2')], 2)).toEqual([]);
});

test('a damaged point costs no good one', () => {
  expect(surplusPoints([good('1'), good('2'), damaged('3'), damaged('4')], 2)).toEqual([]);
  expect(surplusPoints([damaged('1'), good('2'), damaged('3'), good('4')], 2)).toEqual(['1']);
  expect(surplusPoints([damaged('1'), damaged('2')], 1)).toEqual([]);
});
