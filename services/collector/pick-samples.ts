import type { Position } from '../../shared/events/position.ts';

export type EligibleSample = {
  readonly sampleId: string;
  /** position of its sample.ready in `training` */
  readonly at: Position;
  /** session and epoch */
  readonly session: string;
  readonly version: number;
  /** id of the access key; absent in rows of earlier programs */
  readonly key?: string;
  /** set: it trains together with all such samples of its session; absent: it trains alone */
  readonly whole?: true;
  /** when the person reacted, RFC 3339; absent in rows of earlier programs */
  readonly said?: string;
  /** ids of the wishes in its hints; absent: none, or wishes are not tracked */
  readonly wishes?: readonly string[];
  /** ids of its wishes that do not teach */
  readonly without?: readonly string[];
  /** whether it takes its person's standing wishes as praise or complaint; absent: it takes none */
  readonly takes?: 'praise' | 'complaint';
};

type Row = readonly [key: string, sample: EligibleSample];

export type PickOptions = {
  /** samples of a batch */
  readonly size: number;
  /** samples of a batch that must be larger, so that no waiting sample becomes too stale */
  readonly most: number;
  /** largest share of a batch for one session or one access key while others have samples */
  readonly share: number;
  /** take the newest first and put them first, as in batches of earlier programs */
  readonly newestFirst?: boolean;
  /** number of batches, including this one, that may still take a sample of a version: 1 or more */
  readonly batchesLeft: (version: number) => number;
};

/** Samples that are taken together: one sample, or all rewarded samples of a session. */
type Unit = {
  readonly rows: readonly Row[];
  readonly session: string;
  readonly key: string | undefined;
  readonly isWhole: boolean;
  readonly left: number;
};

type Picked = {
  /** in order of arrival, so that a person's latest verdict trains last */
  readonly batch: readonly Row[];
  /** samples older than a picked one of the same person, which must not train after it */
  readonly overtaken: readonly Row[];
};

/**
 * Picks the samples of one batch: `size` of them, oldest first. One session or access key gets no more than its
 * share while others have samples. If batches of that size would let waiting samples become too stale, the
 * batch grows up to `most`, and samples that no later batch could take go first. If that is still not enough,
 * the newest samples train and the ones that they overtake never do. Rewarded samples of a session stay
 * together and may make a batch or a share larger. `rows`: oldest first.
 */
export function pickSamples(
  rows: readonly Row[],
  { size, most, share, newestFirst = false, batchesLeft }: PickOptions,
): Picked {
  const arrived = unitsOf(rows, batchesLeft);
  const units = newestFirst ? arrived.toReversed() : arrived;
  const urgent = units.toSorted((a, b) => a.left - b.left);
  const enough = sizeThatServesAll(urgent);
  const target = Math.min(Math.max(size, enough), Math.max(size, most));
  const tooMany = enough > target;
  const due = tooMany ? 0 : dueNow(urgent, target);
  const cap = Math.max(1, Math.floor(target * share));
  const batch = openBatch(new Set(units.map(({ key }) => key)).size > 1 ? cap : Number.POSITIVE_INFINITY);
  batch.take(urgent, due, () => true);
  const ordered = tooMany ? arrived.toReversed() : units;
  // Rewarded samples are exempt from the session cap: they are taken as a whole.
  batch.take(ordered, target, ({ session, isWhole }) => isWhole || batch.ofSession(session) < cap);
  batch.take(ordered, target, () => true);
  batch.liftKeyCap();
  batch.take(ordered, target, ({ session, isWhole }) => isWhole || batch.ofSession(session) < cap);
  batch.take(ordered, target, () => true);
  if (newestFirst) return { batch: batch.units().flatMap((unit) => unit.rows.toReversed()), overtaken: [] };
  const picked = batch
    .units()
    .flatMap((unit) => unit.rows)
    .toSorted(([a], [b]) => (a < b ? -1 : 1));
  return { batch: picked, overtaken: tooMany ? samplesOvertakenBy(picked, rows) : [] };
}

/** Identifies the person of a sample: by access key, or by session if the key is unknown. */
export const personOf = ({ key, session }: Pick<EligibleSample, 'key' | 'session'>): string =>
  JSON.stringify([key ?? null, key ?? session]);

function samplesOvertakenBy(picked: readonly Row[], rows: readonly Row[]): readonly Row[] {
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
    /** Adds units up to that number of samples, skipping access keys that have reached their share. */
    take: (units: readonly Unit[], until: number, fits: (unit: Unit) => boolean): void => {
      for (const unit of units) {
        if (count >= until) return;
        if (!picked.has(unit) && (keys.get(unit.key) ?? 0) < cap && fits(unit)) add(unit);
      }
    },
    /** Call when no other key has samples left. */
    liftKeyCap: (): void => {
      cap = Number.POSITIVE_INFINITY;
    },
    units: (): readonly Unit[] => [...picked],
  };
}

/** Groups samples into units, oldest first by their first sample. */
function unitsOf(rows: readonly Row[], batchesLeft: PickOptions['batchesLeft']): readonly Unit[] {
  const together = Map.groupBy(rows, ([key, { session, whole }]) =>
    whole ? `whole ${session}` : `single ${key}`,
  );
  return [...together.values()].map((members) => {
    const [, { session, key, whole }] = members[0]!;
    const left = Math.min(...members.map(([, { version }]) => batchesLeft(version)));
    return { rows: members, session, key, isWhole: whole === true, left };
  });
}

/** The smallest batch size that lets no sample become too stale. `urgent`: fewest batches left first. */
function sizeThatServesAll(urgent: readonly Unit[]): number {
  let [count, size] = [0, 0];
  for (const { rows, left } of urgent) {
    count += rows.length;
    size = Math.max(size, Math.ceil(count / left));
  }
  return size;
}

/** How many samples must go now, so that later batches of that size can take the others in time. */
function dueNow(urgent: readonly Unit[], size: number): number {
  let [count, due] = [0, 0];
  for (const { rows, left } of urgent) {
    count += rows.length;
    due = Math.max(due, count - size * (left - 1));
  }
  return due;
}
