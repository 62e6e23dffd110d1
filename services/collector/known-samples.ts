import { headView } from '../../shared/lineage/head-rows.ts';
import { DAY_MS } from '../../shared/log/event-clock.ts';
import type { InputEvent } from '../../shared/log/fold.ts';
import type { Draft } from '../../shared/log/rows.ts';
import type { EligibleSample } from './pick-samples.ts';

/** `known/<sample id>`: a sample that came; `left`: the last batch before it left, and when, ms since 1970. */
type KnownSample = { readonly left?: { readonly n: number; readonly time: number } };

const known = (draft: Draft) => draft.table<KnownSample>('known');

export const isKnown = (draft: Draft, sampleId: string): boolean => known(draft).get(sampleId) !== undefined;

export const noteCame = (draft: Draft, sampleId: string): void => known(draft).set(sampleId, {});

/** Its id stays for a while: a copy of it is no new sample. */
export const noteLeft = (draft: Draft, sampleId: string, event: InputEvent): void =>
  known(draft).set(sampleId, { left: { n: headView(draft).n, time: momentOf(event) } });

/** For rows of an earlier program, which did not remember. */
export function rememberPool(draft: Draft): void {
  for (const [, { sampleId }] of draft.table<EligibleSample>('sample').entries()) noteCame(draft, sampleId);
}

/**
 * Forgets samples that left a day ago and would be too old for a batch. Reads all ids, so only when a batch is
 * formed.
 */
export function forgetLeft(draft: Draft, event: InputEvent, maxStaleness: number): void {
  const { n } = headView(draft);
  const horizon = momentOf(event) - DAY_MS;
  for (const [sampleId, { left }] of known(draft).entries())
    if (left !== undefined && left.time < horizon && left.n + maxStaleness < n) known(draft).delete(sampleId);
}

/** A clock in the future says no more than when the record was appended. */
const momentOf = ({ time, recorded }: InputEvent): number =>
  Math.min(Date.parse(time), recorded ?? Number.POSITIVE_INFINITY);
