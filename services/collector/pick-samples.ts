import type { Position } from '../../shared/events/position.ts';

export type EligibleSample = {
  readonly sampleId: string;
  /** of its sample.ready in `training` */
  readonly at: Position;
  /** session and epoch */
  readonly session: string;
  readonly version: number;
};

type Row = readonly [key: string, sample: EligibleSample];

/**
 * Newest first, at most max(1, size / 2) of one session as long as other sessions have any. `rows`: oldest
 * first.
 */
export function pickSamples(rows: readonly Row[], size: number): readonly Row[] {
  const cap = Math.max(1, Math.floor(size / 2));
  const taken = new Map<string, number>();
  const picked: Row[] = [];
  const beyondCap: Row[] = [];
  for (const row of rows.toReversed()) {
    if (picked.length === size) return picked;
    const { session } = row[1];
    const count = taken.get(session) ?? 0;
    taken.set(session, count + 1);
    (count < cap ? picked : beyondCap).push(row);
  }
  return [...picked, ...beyondCap.slice(0, size - picked.length)];
}
