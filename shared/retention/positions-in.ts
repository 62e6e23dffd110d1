import type { Position } from '../events/position.ts';

/** All positions of records in a row of a fold, wherever they are. Their topic is the one that the fold reads. */
export function positionsIn(value: unknown): readonly Position[] {
  if (typeof value !== 'object' || value === null) return [];
  const { partition, offset } = value as { readonly partition?: unknown; readonly offset?: unknown };
  const here =
    Number.isInteger(partition) && Number.isInteger(offset)
      ? [{ partition: partition as number, offset: offset as number }]
      : [];
  return [...here, ...Object.values(value).flatMap(positionsIn)];
}
