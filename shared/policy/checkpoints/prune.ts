import type { CheckpointSummary } from './state.ts';

export type Retention = {
  /** how many checkpoints of the head's lineage are kept, at least the nearest ten; half as many of the newest are kept too */
  readonly keep: number;
  /** versions from the served one back to the base */
  readonly lineage: readonly number[];
  /** parent of the open batch */
  readonly openParent: number | undefined;
  /** number of the last batch that has its outcome in the log; the attempts at it and before it are over */
  readonly settled: number;
};

/**
 * The head, the parents of the eight promotions that verdicts can still undo, and one more: a step may be promoted after
 * a rollback was decided, but before it is in the log.
 */
const NEAREST = 10;

/**
 * Names of the checkpoints that may be removed. The rule keeps the head, its nearest ancestors, a spread of the others, the newest
 * versions (a rollback may be undone) and the parent of the open batch. Slow drift is noticed late: the way
 * back must reach further than the last few days.
 */
export function prunable(
  checkpoints: readonly CheckpointSummary[],
  { keep, lineage, openParent }: Omit<Retention, 'settled'>,
): readonly string[] {
  const newest = checkpoints.map(({ state }) => state.version).toSorted((a, b) => b - a);
  const kept = new Set([
    ...spreadOut(lineage).slice(0, keep),
    ...lineage.slice(0, NEAREST),
    ...newest.slice(0, Math.ceil(keep / 2)),
    openParent,
  ]);
  return checkpoints.filter(({ state }) => !kept.has(state.version)).map(({ name }) => name);
}

/**
 * The head, and one version from each of the ranges 1, 2 to 3, 4 to 7, 8 to 15 ... steps back, nearest first.
 * From a range of 2^i versions it takes the one whose distance from the base is a multiple of 2^i. When a
 * version moves on into the next range it is taken there too, or another version that was kept is. So no
 * version that a later head needs has been removed.
 */
export function spreadOut(lineage: readonly number[]): readonly number[] {
  return lineage.filter((_, back) => {
    const fromBase = lineage.length - 1 - back;
    return back === 0 || fromBase % 2 ** Math.floor(Math.log2(back)) === 0;
  });
}
