import { headView } from '../../shared/lineage/head-rows.ts';
import { DAY_MS } from '../../shared/log/event-clock.ts';
import type { InputEvent } from '../../shared/log/fold.ts';
import type { Draft } from '../../shared/log/rows.ts';
import type { EligibleSample } from './pick-samples.ts';

/**
 * `known/<sample id>`: a sample that arrived. `left`: when it left, ms since 1970, and the last batch before.
 */
type KnownSample = { readonly left?: { readonly n: number; readonly time: number } };

const known = (draft: Draft) => draft.table<KnownSample>('known');

export const isKnown = (draft: Draft, sampleId: string): boolean => known(draft).get(sampleId) !== undefined;

export const noteArrived = (draft: Draft, sampleId: string): void => known(draft).set(sampleId, {});

/** Keeps the id of a sample that left, so that a copy is not taken for a new sample. */
export const noteLeft = (draft: Draft, sampleId: string, event: InputEvent): void =>
  known(draft).set(sampleId, { left: { n: headView(draft).n, time: recordedAt(event) } });

/** Notes the ids of all samples in the pool, for rows of an earlier program that did not. */
export function rememberPool(draft: Draft): void {
  for (const [, { sampleId }] of draft.table<EligibleSample>('sample').entries())
    noteArrived(draft, sampleId);
}

/**
 * Forgets samples that left a day ago and are too old for a batch. Reads all ids, so call it once per batch.
 */
export function forgetLeft(draft: Draft, event: InputEvent, maxStaleness: number): void {
  const { n } = headView(draft);
  const horizon = recordedAt(event) - DAY_MS;
  for (const [sampleId, { left }] of known(draft).entries())
    if (left !== undefined && left.time < horizon && left.n + maxStaleness < n) known(draft).delete(sampleId);
}

/** Time of an event, ms since 1970: its own, but not later than when it was appended. */
const recordedAt = ({ time, recorded }: InputEvent): number =>
  Math.min(Date.parse(time), recorded ?? Number.POSITIVE_INFINITY);
