import { createHash } from 'node:crypto';
import { turnOfSample } from '../../shared/events/sample-id.ts';
import type { Draft } from '../../shared/log/rows.ts';
import { type EligibleSample, personOf } from './pick-samples.ts';

/** Samples that are kept of an adapter, and that a batch names. */
const KEPT = 16;
const NAMED = 8;

/** Positions alone: what was asked stands in the log. */
type EarlierSample = Pick<EligibleSample, 'sampleId' | 'at' | 'session' | 'key'>;

/** One row per adapter, `earlier/now`: of the samples of all batches, lowest rank first. */
const table = (draft: Draft) => draft.table<readonly EarlierSample[]>('earlier');

/** For a batch of the first rules that know this, and later ones. */
export const namesEarlier = ({ rules = 1 }: { readonly rules?: number }): boolean => rules >= 3;

/** Keeps some of those that train now. Of many it is a fair draw; whoever has the most makes room. */
export function noteAsked(draft: Draft, samples: readonly EligibleSample[]): void {
  const added = samples.map(({ sampleId, at, session, key }): EarlierSample => {
    return { sampleId, at, session, ...(key === undefined ? {} : { key }) };
  });
  let kept = inRank([...(table(draft).get('now') ?? []), ...added]);
  while (kept.length > KEPT) {
    const gone = mostOf(kept).at(-1)!;
    kept = kept.filter((sample) => sample !== gone);
  }
  table(draft).set('now', kept);
}

/** What was deleted is asked no more, whichever of the samples of its turn is named. */
export function forgetAsked(draft: Draft, sampleId: string): void {
  const kept = table(draft).get('now') ?? [];
  const turn = turnOfSample(sampleId);
  const left = kept.filter((sample) => turnOfSample(sample.sampleId) !== turn);
  if (left.length < kept.length) table(draft).set('now', left);
}

/** Some of what was kept, one of each person in turn. */
export function earlierRequests(draft: Draft): readonly Pick<EarlierSample, 'sampleId' | 'at'>[] {
  const people = [...Map.groupBy(table(draft).get('now') ?? [], personOf).values()];
  const turns = Array.from({ length: NAMED }, (_, turn) => people.flatMap((mine) => mine[turn] ?? []));
  return turns
    .flat()
    .slice(0, NAMED)
    .map(({ sampleId, at }) => ({ sampleId, at }));
}

/** `samples` in order of rank. Of the person with the most; of equals the one whose last has the highest rank. */
const mostOf = (samples: readonly EarlierSample[]): readonly EarlierSample[] => {
  const lastOf = (mine: readonly EarlierSample[]) => samples.indexOf(mine.at(-1)!);
  const people = [...Map.groupBy(samples, personOf).values()];
  return people.toSorted((a, b) => b.length - a.length || lastOf(b) - lastOf(a))[0]!;
};

/** By a hash of the id: the lowest of many are a fair draw of them, and the same ones again in a replay. */
function inRank(samples: readonly EarlierSample[]): readonly EarlierSample[] {
  const rankOf = ({ sampleId }: EarlierSample) => createHash('sha256').update(sampleId).digest('hex');
  const ranked = samples.map((sample) => ({ sample, rank: rankOf(sample) }));
  return ranked.toSorted((a, b) => (a.rank < b.rank ? -1 : 1)).map(({ sample }) => sample);
}
