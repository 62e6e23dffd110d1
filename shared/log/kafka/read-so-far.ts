import { type ChainedRecord, emptyChain, linkAfter } from '../chain.ts';

/** One record that a group has read: its offset, and the first 16 digits of its hash. */
export type ReadPoint = readonly [offset: number, hash: string];

/**
 * What a group has read of one input partition. It is stored with the position, to detect a log that lost records
 * or was changed.
 */
export type ReadSoFar = {
  /** the first offset that the chain covers */
  readonly from: number;
  readonly link: string;
  /** Ascending; the last point is the last record that was read. Older points are sparser. */
  readonly points: readonly ReadPoint[];
};

export const readFrom = (from: number): ReadSoFar => ({ from, link: emptyChain, points: [] });

export function readOn(before: ReadSoFar, records: readonly ChainedRecord[]): ReadSoFar {
  if (records.length === 0) return before;
  return {
    from: before.from,
    // record by record, so that the link does not depend on the chunk size
    link: records.reduce((link, record) => linkAfter(link, [record]), before.link),
    points: thinned([...before.points, ...records.map(pointOf)]),
  };
}

export const pointOf = (record: ChainedRecord): ReadPoint => [
  record.offset,
  linkAfter(emptyChain, [record]).slice(0, 16),
];

/** Keeps the first and the last of all points that are between 2^n and 2^(n+1) offsets before the newest. */
function thinned(points: readonly ReadPoint[]): readonly ReadPoint[] {
  const newest = points.at(-1)![0];
  const span = (point: ReadPoint | undefined) =>
    point === undefined ? -1 : Math.floor(Math.log2(newest - point[0] + 1));
  return points.filter(
    (point, index) => span(point) !== span(points[index - 1]) || span(point) !== span(points[index + 1]),
  );
}
