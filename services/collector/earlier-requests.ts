import { createHash } from 'node:crypto';
import { turnOfSample } from '../../shared/events/sample-id.ts';
import { defined } from '../../shared/lang/defined.ts';
import type { Draft } from '../../shared/log/rows.ts';
import { type EligibleSample, personOf } from './pick-samples.ts';

/** Samples that are kept per adapter, and samples that a batch names. */
const KEPT = 16;
const NAMED = 8;

/** Only positions; the requests themselves stay in the log. */
type EarlierSample = Pick<EligibleSample, 'sampleId' | 'at' | 'session' | 'key'>;

/** One row per adapter, `earlier/now`: a selection of the samples of all batches, lowest rank first. */
const table = (draft: Draft) => draft.table<readonly EarlierSample[]>('earlier');

/** Whether a batch names earlier requests: from the third version of the rules on. */
export const namesEarlierRequests = ({ rules = 1 }: { readonly rules?: number }): boolean => rules >= 3;

/** Keeps a fair draw of the samples that train now. The person with the most samples makes room. */
export function keepRequests(draft: Draft, samples: readonly EligibleSample[]): void {
  const added = samples.map(({ sampleId, at, session, key }): EarlierSample => {
    return { sampleId, at, session, ...defined({ key }) };
  });
  let kept = byRank([...(table(draft).get('now') ?? []), ...added]);
  while (kept.length > KEPT) {
    const gone = samplesOfTopPerson(kept).at(-1)!;
    kept = kept.filter((sample) => sample !== gone);
  }
  table(draft).set('now', kept);
}

/** Forgets all samples of a turn when one of them is withdrawn. */
export function forgetRequest(draft: Draft, sampleId: string): void {
  const kept = table(draft).get('now') ?? [];
  const turn = turnOfSample(sampleId);
  const left = kept.filter((sample) => turnOfSample(sample.sampleId) !== turn);
  if (left.length < kept.length) table(draft).set('now', left);
}

/** Some of the kept samples, taken from each person in rotation. */
export function earlierRequests(draft: Draft): readonly Pick<EarlierSample, 'sampleId' | 'at'>[] {
  const people = [...Map.groupBy(table(draft).get('now') ?? [], personOf).values()];
  const rounds = Array.from({ length: NAMED }, (_, round) =>
    people.flatMap((samples) => samples[round] ?? []),
  );
  return rounds
    .flat()
    .slice(0, NAMED)
    .map(({ sampleId, at }) => ({ sampleId, at }));
}

/**
 * The samples of the person with the most; of equals, of the one whose last sample has the highest rank.
 * `samples`: by rank.
 */
const samplesOfTopPerson = (samples: readonly EarlierSample[]): readonly EarlierSample[] => {
  const lastOf = (group: readonly EarlierSample[]) => samples.indexOf(group.at(-1)!);
  const people = [...Map.groupBy(samples, personOf).values()];
  return people.toSorted((a, b) => b.length - a.length || lastOf(b) - lastOf(a))[0]!;
};

/** Sorts by a hash of the id: the lowest ranks are a fair draw, and the same one in a replay. */
function byRank(samples: readonly EarlierSample[]): readonly EarlierSample[] {
  const rankOf = ({ sampleId }: EarlierSample) => createHash('sha256').update(sampleId).digest('hex');
  const ranked = samples.map((sample) => ({ sample, rank: rankOf(sample) }));
  return ranked.toSorted((a, b) => (a.rank < b.rank ? -1 : 1)).map(({ sample }) => sample);
}
