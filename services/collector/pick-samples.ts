import type { Position } from '../../shared/events/position.ts';

export type EligibleSample = {
  readonly sampleId: string;
  /** of its sample.ready in `training` */
  readonly at: Position;
  /** session and epoch */
  readonly session: string;
  readonly version: number;
  /** absent: it trains with whatever else there is; else with all others of its session that are so */
  readonly whole?: true;
};

type Row = readonly [key: string, sample: EligibleSample];

export type PickOptions = {
  /** samples of a batch */
  readonly size: number;
  /** of one that has to take more, so that none that waits grows too old */
  readonly most: number;
  /** batches from now on that may take a sample of that version, this one included: 1 or more */
  readonly batchesLeft: (version: number) => number;
};

/** Samples that are taken together: one, or those that a session was rewarded for. */
type Unit = {
  readonly rows: readonly Row[];
  readonly session: string;
  readonly isWhole: boolean;
  readonly left: number;
};

/**
 * The samples of one batch: `size`, newest first, at most half of them of one session as long as other
 * sessions have any. Where so many wait that batches of that size would leave some behind until they are too
 * old, the batch is as large as it takes, up to `most`, and those that no later batch could take go first.
 * What a session was rewarded for stays together, and may make a batch larger. `rows`: oldest first.
 */
export function pickSamples(rows: readonly Row[], { size, most, batchesLeft }: PickOptions): readonly Row[] {
  const units = unitsOf(rows, batchesLeft);
  const urgent = units.toReversed().sort((a, b) => a.left - b.left);
  const enough = sizeForAll(urgent);
  // what cannot be saved anyway is no reason to train older samples
  const target = Math.min(Math.max(size, enough), Math.max(size, most));
  const due = enough > target ? 0 : dueNow(urgent, target);
  const picked = new Set<Unit>();
  let count = 0;
  const take = (unit: Unit): void => {
    picked.add(unit);
    count += unit.rows.length;
  };
  for (const unit of urgent) if (count < due) take(unit);
  const cap = Math.max(1, Math.floor(target / 2));
  const taken = new Map<string, number>();
  for (const { session, isWhole } of picked) if (!isWhole) taken.set(session, (taken.get(session) ?? 0) + 1);
  const newest = units.toReversed().filter((unit) => !picked.has(unit));
  for (const unit of newest) {
    if (count >= target) break;
    const before = taken.get(unit.session) ?? 0;
    if (!unit.isWhole && before >= cap) continue;
    taken.set(unit.session, before + 1);
    take(unit);
  }
  for (const unit of newest) if (count < target && !picked.has(unit)) take(unit);
  return [...picked].flatMap((unit) => unit.rows.toReversed());
}

/** Oldest first, by the first of each. */
function unitsOf(rows: readonly Row[], batchesLeft: PickOptions['batchesLeft']): readonly Unit[] {
  const together = Map.groupBy(rows, ([key, { session, whole }]) =>
    whole ? `whole ${session}` : `single ${key}`,
  );
  return [...together.values()].map((mine) => {
    const [, { session, whole }] = mine[0]!;
    const left = Math.min(...mine.map(([, { version }]) => batchesLeft(version)));
    return { rows: mine, session, isWhole: whole === true, left };
  });
}

/** The smallest size of batches that leaves none behind. `urgent`: the fewest batches left first. */
function sizeForAll(urgent: readonly Unit[]): number {
  let [count, size] = [0, 0];
  for (const { rows, left } of urgent) {
    count += rows.length;
    size = Math.max(size, Math.ceil(count / left));
  }
  return size;
}

/** How many must go now, so that the later batches of that size can take the others in time. */
function dueNow(urgent: readonly Unit[], size: number): number {
  let [count, due] = [0, 0];
  for (const { rows, left } of urgent) {
    count += rows.length;
    due = Math.max(due, count - size * (left - 1));
  }
  return due;
}
