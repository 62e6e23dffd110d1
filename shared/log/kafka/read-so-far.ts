import { type ChainedRecord, emptyChain, linkAfter } from '../chain.ts';

/** One record that a group has read: its offset, and the start of its own hash. */
export type ReadPoint = readonly [offset: number, hash: string];

/**
 * What a group has read of one input partition. It stands beside the position, so that a log that lost its
 * tail, or was changed, is noticed.
 */
export type ReadSoFar = {
  /** the first offset that the chain covers */
  readonly from: number;
  readonly link: string;
  /** Ascending; the last is the record that was read last. The further back, the fewer there are. */
  readonly points: readonly ReadPoint[];
};

export const readFrom = (from: number): ReadSoFar => ({ from, link: emptyChain, points: [] });

export function readOn(before: ReadSoFar, records: readonly ChainedRecord[]): ReadSoFar {
  if (records.length === 0) return before;
  return {
    from: before.from,
    // one by one, so that the link does not depend on how many are read at a time
    link: records.reduce((link, record) => linkAfter(link, [record]), before.link),
    points: thinned([...before.points, ...records.map(pointOf)]),
  };
}

export const pointOf = (record: ChainedRecord): ReadPoint => [
  record.offset,
  linkAfter(emptyChain, [record]).slice(0, 16),
];

/** Of all points that are between 2^n and 2^(n+1) offsets behind the last, the first and the last stay. */
function thinned(points: readonly ReadPoint[]): readonly ReadPoint[] {
  const newest = points.at(-1)![0];
  const span = (point: ReadPoint | undefined) =>
    point === undefined ? -1 : Math.floor(Math.log2(newest - point[0] + 1));
  return points.filter(
    (point, index) => span(point) !== span(points[index - 1]) || span(point) !== span(points[index + 1]),
  );
}
