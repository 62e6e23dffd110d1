import type { BatchSubmitted } from '../../shared/events/batch-submitted.ts';
import type { EventLog, Recorded } from '../../shared/log/event-log.ts';
import { readToEnd } from '../../shared/log/read-topic.ts';
import type { Logger } from '../../shared/runtime/logger.ts';

type Batch = BatchSubmitted['data'];
type Options = {
  readonly log: Pick<EventLog, 'follow' | 'ends'>;
  readonly logger: Logger;
  readonly signal: AbortSignal;
  /** ms since 1970 */
  readonly now?: () => number;
};

/**
 * Measures how long the open batches have waited, from the time of their events, so that a restart does not
 * shorten it. Rows contain no times, so the event is looked up once per batch, after its last sample.
 */
export function createBatchWait({ log, logger, signal, now = Date.now }: Options) {
  const open = new Map<string, { readonly batchId: string; since: number }>();

  const lookUp = async (batch: Batch): Promise<void> => {
    const [first] = batch.samples;
    if (first === undefined) return;
    const { partition } = first.at;
    const last = Math.max(...batch.samples.map(({ at }) => at.offset));
    const from = { ...(await log.ends('training')), [partition]: last };
    const batchSeen = new AbortController();
    const onRecord = ({ event }: Recorded) => {
      if (event.type !== 'batch.submitted' || event.data.batchId !== batch.batchId) return;
      const known = open.get(batch.adapter);
      if (known?.batchId === batch.batchId) known.since = Math.min(known.since, Date.parse(event.time));
      batchSeen.abort();
    };
    await readToEnd(log, 'training', onRecord, {
      from,
      wants: new Set(['batch.submitted']),
      signal: AbortSignal.any([signal, batchSeen.signal]),
    });
  };

  return {
    /** Sets the open batch of an adapter; null: none is open. */
    see: (adapter: string, batch: Batch | null): void => {
      if (batch === null) open.delete(adapter);
      if (batch === null || open.get(adapter)?.batchId === batch.batchId) return;
      open.set(adapter, { batchId: batch.batchId, since: now() });
      lookUp(batch).catch((error: unknown) => {
        if (!signal.aborted)
          logger.warn({ err: error, batch: batch.batchId }, 'could not look up when the batch was submitted');
      });
    },
    /** seconds that the oldest open batch has waited; 0: none is open */
    seconds: (): number => {
      const since = Math.min(...[...open.values()].map((batch) => batch.since));
      return Number.isFinite(since) ? Math.max(0, (now() - since) / 1000) : 0;
    },
  };
}
export type BatchWait = ReturnType<typeof createBatchWait>;
