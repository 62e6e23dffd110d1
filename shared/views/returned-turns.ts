import { z } from 'zod';
import type { BatchReturned } from '../events/batch-returned.ts';
import { turnOfSample } from '../events/sample-id.ts';
import { sum } from '../lang/numbers.ts';

/** By the id of its `batch.returned`: a batch that waits to train again, and the samples of it that still wait. */
export const returnedState = z.array(z.tuple([z.string(), z.string(), z.array(z.string())]));
type ReturnedState = z.output<typeof returnedState>;

/**
 * The turns that wait to train again. A turn may have several samples, in several batches. The caller leaves out late
 * copies of a return.
 */
export function openReturnedTurns(from: ReturnedState = []) {
  const waiting = new Map<string, { readonly batch: string; readonly samples: Set<string> }>();
  /** number of samples that wait, by turn */
  const counts = new Map<string, number>();
  const count = (sampleId: string, by: 1 | -1): void => {
    const turn = turnOfSample(sampleId);
    const left = (counts.get(turn) ?? 0) + by;
    if (left === 0) counts.delete(turn);
    else counts.set(turn, left);
  };
  const add = (id: string, batch: string, samples: readonly string[]): void => {
    if (waiting.has(id)) return;
    waiting.set(id, { batch, samples: new Set(samples) });
    for (const sampleId of samples) count(sampleId, 1);
  };
  const remove = (id: string, sampleId: string): void => {
    const entry = waiting.get(id);
    if (!entry?.samples.delete(sampleId)) return;
    count(sampleId, -1);
    if (entry.samples.size === 0) waiting.delete(id);
  };
  for (const entry of from) add(...entry);
  return {
    /** The samples wait until their batch is formed or they are dropped. */
    add: ({ id, data }: BatchReturned): void =>
      add(
        id,
        data.batchId,
        data.samples.map(({ sampleId }) => sampleId),
      ),
    /** A sample of that return was dropped. */
    drop: remove,
    /** The batch was formed again. The oldest return of it ends, since a later one replaces those before. */
    form: (batch: string, samples: readonly { readonly sampleId: string }[]): void => {
      const [id] = [...waiting].find(([, entry]) => entry.batch === batch) ?? [];
      if (id !== undefined) for (const { sampleId } of samples) remove(id, sampleId);
    },
    has: (turnId: string): boolean => counts.has(turnId),
    /** number of samples that wait */
    size: (): number => sum([...counts.values()]),
    state: (): ReturnedState => [...waiting].map(([id, { batch, samples }]) => [id, batch, [...samples]]),
  };
}
