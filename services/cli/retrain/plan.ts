import type { BatchReturned } from '../../../shared/events/batch-returned.ts';
import type { BatchSubmitted } from '../../../shared/events/batch-submitted.ts';
import { turnOfSample } from '../../../shared/events/sample-id.ts';
import { defined } from '../../../shared/lang/defined.ts';
import { type HeadState, lineage, viewOf } from '../../../shared/lineage/head.ts';

type Batch = BatchSubmitted['data'];
type Sample = Batch['samples'][number];

/** What the log says about the versions of an adapter. */
export type Learned = {
  readonly head: HeadState;
  /** by number; of a batch that trained again, the samples that were left */
  readonly batches: ReadonlyMap<number, Batch>;
  /** numbers of the batches that wait to train again, in their order */
  readonly waiting: readonly number[];
  /** turns that an operator withdrew or a client deleted */
  readonly withdrawn: ReadonlySet<string>;
  /** samples that a later verdict replaced while they waited to train again */
  readonly corrected: ReadonlySet<string>;
  /** versions that learned from words that were erased */
  readonly erased: ReadonlySet<number>;
};

/** What trains again. A batch that trained again counts as the batch that was first formed of its samples. */
export type Chain = {
  /** the version that the batches start from */
  readonly to: number;
  /** numbers of the batches, in their order */
  readonly batches: readonly number[];
  /** of those that led to the other version, batches that the start learned from, or may soon */
  readonly learned: readonly number[];
  /** versions, or the open batch, that the head leaves and that do not train again */
  readonly lost: readonly number[];
};

/** The number of the batch that was first formed of the samples of a batch. */
function firstOf(batches: Learned['batches'], n: number): number {
  const again = batches.get(n)?.again;
  if (again === undefined) return n;
  for (const batch of batches.values()) if (batch.batchId === again) return batch.n;
  return n;
}

/**
 * The batches that led to `from`, but not to `to`: also the open batch if it was to follow them, and then those that
 * wait to train again already, so that they come after them.
 */
export function chainBetween({ head, batches, waiting }: Learned, to: number, from: number): Chain {
  const view = viewOf(head);
  const kept = lineage(view, to);
  const onLine = new Set(kept);
  const led = lineage(view, from).filter((version) => !onLine.has(version));
  const { open } = head;
  const next = open !== null && led.includes(open.parent) ? [open.n] : [];
  const known = new Set([...kept, ...(open?.parent === to ? [open.n] : [])].map((n) => firstOf(batches, n)));
  const wanted = [...new Set([...led.toReversed(), ...next].map((n) => firstOf(batches, n)))];
  const fresh = wanted.filter((n) => !known.has(n));
  const after = fresh.length === 0 ? [] : waiting.filter((n) => !fresh.includes(n) && !known.has(n));
  const served = lineage(view, head.head).filter((version) => !onLine.has(version));
  const isLeft =
    open !== null && (served.includes(open.parent) || (open.parent === head.head && head.head !== to));
  const left = [...served.toReversed(), ...(isLeft ? [open.n] : [])];
  const again = [...fresh, ...after];
  const stays = new Set([...known, ...again]);
  const lost = left.filter((n) => !stays.has(firstOf(batches, n)));
  return { to, batches: again, learned: wanted.filter((n) => known.has(n)), lost };
}

/**
 * The newest version that neither learned from erased or withdrawn words nor descends from one that did, and that has
 * a checkpoint; undefined: the head is such a version.
 */
export async function newestUntouched(
  learned: Learned,
  from: number,
  hasCheckpoint: (version: number) => Promise<boolean>,
): Promise<number | undefined> {
  const path = lineage(viewOf(learned.head), from).toReversed();
  const touched = path.findIndex((version) => isTouched(learned, version));
  if (touched === -1) return undefined;
  for (const version of path.slice(0, touched).toReversed()) if (await hasCheckpoint(version)) return version;
  return 0;
}

/** Whether a version learned from erased or withdrawn words, or its open batch has withdrawn ones. */
export const isTouched = ({ batches, withdrawn, erased }: Learned, version: number): boolean =>
  erased.has(version) ||
  (batches.get(version)?.samples ?? []).some(({ sampleId }) => withdrawn.has(turnOfSample(sampleId)));

type Returned = Omit<BatchReturned['data'], 'reason'>;

/** The batches of a chain without the samples that are gone. A batch of which nothing is left is undefined. */
export async function batchesOf(
  { batches, withdrawn, corrected }: Learned,
  chain: Pick<Chain, 'batches'>,
  isErased: (sample: Pick<Sample, 'sampleId' | 'at'>) => Promise<boolean>,
): Promise<readonly (Returned | undefined)[]> {
  const kept = async <Kept extends Pick<Sample, 'sampleId' | 'at'>>(samples: readonly Kept[]) => {
    const stay: Kept[] = [];
    for (const sample of samples) {
      const isGone = withdrawn.has(turnOfSample(sample.sampleId)) || corrected.has(sample.sampleId);
      if (!isGone && !(await isErased(sample))) stay.push(sample);
    }
    return stay;
  };
  const returned: (Returned | undefined)[] = [];
  for (const number of chain.batches) {
    const first = batches.get(number);
    const samples = await kept(first?.samples ?? []);
    if (first === undefined || samples.length === 0) {
      returned.push(undefined);
      continue;
    }
    const { batchId, adapter, n, size, maxStaleness, seed } = first;
    // People compared its answers then.
    const settings = { ...first.settings, canaryShare: 0 };
    const earlier = first.earlier && (await kept(first.earlier));
    const without = first.samples.length - samples.length;
    const rest = { batchId, adapter, n, size, maxStaleness, samples, without, settings, seed };
    returned.push({ ...rest, ...defined({ earlier }) });
  }
  return returned;
}
