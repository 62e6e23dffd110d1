import { z } from 'zod';
import type { BatchReturned } from '../events/batch-returned.ts';
import { turnOfSample } from '../events/sample-id.ts';

/** By the id of its `batch.returned`: a batch that waits to train again, and the samples of it that still wait. */
export const returnedState = z.array(z.tuple([z.string(), z.string(), z.array(z.string())]));
type ReturnedState = z.output<typeof returnedState>;

/** The turns that wait to train again. A turn may have several samples, in several batches. */
export function openReturnedTurns(from: ReturnedState = []) {
  const waiting = new Map(from.map(([id, batch, samples]) => [id, { batch, samples: new Set(samples) }]));
  const remove = (id: string, sampleId: string): void => {
    const entry = waiting.get(id);
    entry?.samples.delete(sampleId);
    if (entry?.samples.size === 0) waiting.delete(id);
  };
  return {
    /** The samples wait until their batch is formed or they are dropped. */
    add: ({ id, data }: BatchReturned): void =>
      void waiting.set(id, {
        batch: data.batchId,
        samples: new Set(data.samples.map(({ sampleId }) => sampleId)),
      }),
    /** A sample of that return was dropped. */
    drop: remove,
    /** The batch was formed again. The oldest return of it ends, since a later one replaces those before. */
    form: (batch: string, samples: readonly { readonly sampleId: string }[]): void => {
      for (const [id, entry] of waiting)
        if (entry.batch === batch) {
          for (const { sampleId } of samples) remove(id, sampleId);
          return;
        }
    },
    has: (turnId: string): boolean => {
      for (const { samples } of waiting.values())
        for (const sampleId of samples) if (turnOfSample(sampleId) === turnId) return true;
      return false;
    },
    state: (): ReturnedState => [...waiting].map(([id, { batch, samples }]) => [id, batch, [...samples]]),
  };
}
