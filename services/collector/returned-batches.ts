import type { BatchReturned } from '../../shared/events/batch-returned.ts';
import type { BatchSubmitted } from '../../shared/events/batch-submitted.ts';
import type { Position } from '../../shared/events/position.ts';
import type { SampleDropped } from '../../shared/events/sample-dropped.ts';
import { turnOfSample } from '../../shared/events/sample-id.ts';
import type { SampleWithdrawn } from '../../shared/events/sample-withdrawn.ts';
import { defined } from '../../shared/lang/defined.ts';
import { sum } from '../../shared/lang/numbers.ts';
import { type HeadView, staleness } from '../../shared/lineage/head.ts';
import { headView } from '../../shared/lineage/head-rows.ts';
import type { InputEvent } from '../../shared/log/fold.ts';
import type { Draft, Rows } from '../../shared/log/rows.ts';
import { droppedSample } from './sample-facts.ts';

/** `returned/<offset of its event>`: a batch that waits to train again. `by`: id of the event. */
type ReturnedBatch = Pick<
  BatchReturned['data'],
  'batchId' | 'size' | 'maxStaleness' | 'samples' | 'earlier' | 'settings' | 'seed'
> & { readonly by: string };

/** `retrained/<batch id>`: numbers of the batches with its samples, the first of them its own. */
type Retrained = readonly number[];

const waiting = (draft: Draft) => draft.table<ReturnedBatch>('returned');
const retrained = (draft: Draft) => draft.table<Retrained>('retrained');

/**
 * Lets a batch wait to train again, after those that wait. Its samples are dropped again if the head learned from them.
 * If it waits already, it moves to the end, so that a later command has its own order.
 */
export function returnBatch(
  draft: Draft,
  event: BatchReturned & InputEvent,
  at: Position,
): readonly SampleDropped[] {
  const { batchId, n, size, maxStaleness, samples, earlier, settings, seed } = event.data;
  const made = retrained(draft).get(batchId) ?? [n];
  const rest = { batchId, size, maxStaleness, samples, ...defined({ earlier }), settings, seed };
  const batch: ReturnedBatch = { ...rest, by: event.id };
  const before = [...waiting(draft).entries()].filter(([, other]) => other.batchId === batchId);
  const replaced = before.flatMap(([row, other]) => {
    waiting(draft).delete(row);
    return other.samples.map(dropFrom(other, event));
  });
  if (isLearned(headView(draft), batchId, made))
    return [...replaced, ...batch.samples.map(dropFrom(batch, event))];
  retrained(draft).set(batchId, made);
  waiting(draft).set(String(at.offset).padStart(15, '0'), batch);
  return replaced;
}

/** Whether the head learned from a batch, or may as soon as the open batch is promoted. */
function isLearned(view: HeadView, batchId: string, made: Retrained): boolean {
  const { open } = view;
  const trains = open !== null && (open.again ?? open.batchId) === batchId;
  return (trains && open.parent === view.head) || made.some((n) => staleness(view, n, view.head) >= 0);
}

/**
 * Takes a withdrawn sample, and for a withdrawn turn all its samples, out of the batches that wait, and out of the
 * earlier requests that they name.
 */
export function withdrawReturned(
  draft: Draft,
  event: SampleWithdrawn & InputEvent,
): readonly SampleDropped[] {
  const { sampleId, reason } = event.data;
  const turn = turnOfSample(sampleId);
  const isGone = (other: string) =>
    reason === 'corrected' ? other === sampleId : turnOfSample(other) === turn;
  return [...waiting(draft).entries()].flatMap(([row, batch]) => {
    const gone = batch.samples.filter((sample) => isGone(sample.sampleId));
    const samples = batch.samples.filter((sample) => !isGone(sample.sampleId));
    const earlier = batch.earlier?.filter((sample) => !isGone(sample.sampleId));
    const hasEarlier = earlier?.length !== batch.earlier?.length;
    if (samples.length === 0) waiting(draft).delete(row);
    else if (gone.length > 0 || hasEarlier)
      waiting(draft).set(row, { ...batch, samples, ...defined({ earlier }) });
    return gone.map(dropFrom(batch, event, reason));
  });
}

export type BatchWithoutPlace = Omit<BatchSubmitted['data'], 'batchId' | 'adapter' | 'n' | 'parent'>;

type Taken = {
  /** undefined: none waits */
  readonly batch: BatchWithoutPlace | undefined;
  readonly dropped: readonly SampleDropped[];
};

/** Takes the next batch that waits to train again as batch `n`. */
export function takeReturned(draft: Draft, event: InputEvent, n: number): Taken {
  const dropped: SampleDropped[] = [];
  for (const [row, batch] of waiting(draft).entries()) {
    const { batchId, by: _, ...data } = batch;
    const made = retrained(draft).get(batchId) ?? [];
    waiting(draft).delete(row);
    if (isLearned(headView(draft), batchId, made)) {
      dropped.push(...batch.samples.map(dropFrom(batch, event)));
      continue;
    }
    retrained(draft).set(batchId, [...made, n]);
    return { batch: { ...data, again: batchId }, dropped };
  }
  return { batch: undefined, dropped };
}

const dropFrom =
  (
    { by, batchId }: ReturnedBatch,
    event: InputEvent,
    reason: SampleDropped['data']['reason'] = 'already-trained',
  ) =>
  ({ sampleId }: { readonly sampleId: string }): SampleDropped => {
    const rule = reason === 'already-trained' ? batchId : undefined;
    const { id, data, ...fact } = droppedSample(event, { sampleId, adapter: event.subject, reason, rule });
    return { ...fact, id: `${id}/${by}`, data: { ...data, returned: by } };
  };

/** Number of samples that wait to train again, from committed rows. */
export const returnedSamples = (rows: Rows): number =>
  sum([...rows.entries('returned/')].map(([, row]) => (row as ReturnedBatch).samples.length));
