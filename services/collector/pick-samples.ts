import type { Position } from '../../shared/events/position.ts';

export type EligibleSample = {
  readonly sampleId: string;
  /** of its sample.ready in `training` */
  readonly at: Position;
  /** session and epoch */
  readonly session: string;
  readonly version: number;
  /** id of the access key; absent in rows of earlier programs */
  readonly key?: string;
  /** absent: it trains with whatever else there is; else with all others of its session that are so */
  readonly whole?: true;
  /** that its hints say, by their ids; absent: it says none, or wishes are not looked at */
  readonly wishes?: readonly string[];
  /** those among them that do not teach */
  readonly without?: readonly string[];
  /** as what it takes the standing wishes of its person; absent: it takes none */
  readonly takes?: 'praise' | 'complaint';
};

type Row = readonly [key: string, sample: EligibleSample];

export type PickOptions = {
  /** samples of a batch */
  readonly size: number;
  /** of one that has to take more, so that none that waits grows too old */
  readonly most: number;
  /** of a batch, at most for one session and for one access key while others have samples */
  readonly share: number;
  /** the newest go first, and a batch begins with its newest: as batches of earlier programs did */
  readonly newestFirst?: boolean;
  /** batches from now on that may take a sample of that version, this one included: 1 or more */
  readonly batchesLeft: (version: number) => number;
};

/** Samples that are taken together: one, or those that a session was rewarded for. */
type Unit = {
  readonly rows: readonly Row[];
  readonly session: string;
  readonly key: string | undefined;
  readonly isWhole: boolean;
  readonly left: number;
};

export type Picked = {
  /** in order of arrival, so that of one person's verdicts the latest trains last */
  readonly batch: readonly Row[];
  /** were left behind by a later one of the same person: to train them afterwards would bring the past back */
  readonly overtaken: readonly Row[];
};

/**
 * The samples of one batch: `size`, oldest first, no more than a share of them of one session, or of one access
 * key, as long as others have any. Where so many wait that batches of that size would leave some behind until
 * they are too old, the batch is as large as it takes, up to `most`, and those that no later batch could take go
 * first. Where not even that saves all, the newest train, and what they overtake never does. What a session was
 * rewarded for stays together, and may make a batch or a share larger. `rows`: oldest first.
 */
export function pickSamples(
  rows: readonly Row[],
  { size, most, share, newestFirst = false, batchesLeft }: PickOptions,
): Picked {
  const arrived = unitsOf(rows, batchesLeft);
  const units = newestFirst ? arrived.toReversed() : arrived;
  const urgent = units.toSorted((a, b) => a.left - b.left);
  const enough = sizeForAll(urgent);
  const target = Math.min(Math.max(size, enough), Math.max(size, most));
  const tooMany = enough > target;
  const due = tooMany ? 0 : dueNow(urgent, target);
  const cap = Math.max(1, Math.floor(target * share));
  const batch = openBatch(new Set(units.map(({ key }) => key)).size > 1 ? cap : Number.POSITIVE_INFINITY);
  batch.take(urgent, due, () => true);
  const inTurn = tooMany ? arrived.toReversed() : units;
  // a session that was rewarded has earned its place as a whole
  batch.take(inTurn, target, ({ session, isWhole }) => isWhole || batch.ofSession(session) < cap);
  batch.take(inTurn, target, () => true);
  batch.liftKeyCap();
  batch.take(inTurn, target, ({ session, isWhole }) => isWhole || batch.ofSession(session) < cap);
  batch.take(inTurn, target, () => true);
  if (newestFirst) return { batch: batch.units().flatMap((unit) => unit.rows.toReversed()), overtaken: [] };
  const picked = batch
    .units()
    .flatMap((unit) => unit.rows)
    .toSorted(([a], [b]) => (a < b ? -1 : 1));
  return { batch: picked, overtaken: tooMany ? overtakenBy(picked, rows) : [] };
}

/** Samples of one person: of an access key, or of a session where that is not known. */
export const personOf = ({ key, session }: Pick<EligibleSample, 'key' | 'session'>): string =>
  JSON.stringify([key ?? null, key ?? session]);

function overtakenBy(picked: readonly Row[], rows: readonly Row[]): readonly Row[] {
  const taken = new Set(picked.map(([place]) => place));
  const latest = new Map(picked.map(([place, sample]) => [personOf(sample), place]));
  return rows.filter(
    ([place, sample]) => !taken.has(place) && !sample.whole && place < (latest.get(personOf(sample)) ?? ''),
  );
}

function openBatch(keyCap: number) {
  const picked = new Set<Unit>();
  const sessions = new Map<string, number>();
  const keys = new Map<string | undefined, number>();
  let [count, cap] = [0, keyCap];
  const add = (unit: Unit): void => {
    picked.add(unit);
    count += unit.rows.length;
    keys.set(unit.key, (keys.get(unit.key) ?? 0) + unit.rows.length);
    if (!unit.isWhole) sessions.set(unit.session, (sessions.get(unit.session) ?? 0) + 1);
  };
  return {
    ofSession: (session: string): number => sessions.get(session) ?? 0,
    /** Adds units until there are so many samples, but none of a key that has its share. */
    take: (units: readonly Unit[], until: number, fits: (unit: Unit) => boolean): void => {
      for (const unit of units) {
        if (count >= until) return;
        if (!picked.has(unit) && (keys.get(unit.key) ?? 0) < cap && fits(unit)) add(unit);
      }
    },
    /** No other key has any left. */
    liftKeyCap: (): void => {
      cap = Number.POSITIVE_INFINITY;
    },
    units: (): readonly Unit[] => [...picked],
  };
}

/** Oldest first, by the first of each. */
function unitsOf(rows: readonly Row[], batchesLeft: PickOptions['batchesLeft']): readonly Unit[] {
  const together = Map.groupBy(rows, ([key, { session, whole }]) =>
    whole ? `whole ${session}` : `single ${key}`,
  );
  return [...together.values()].map((mine) => {
    const [, { session, key, whole }] = mine[0]!;
    const left = Math.min(...mine.map(([, { version }]) => batchesLeft(version)));
    return { rows: mine, session, key, isWhole: whole === true, left };
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
