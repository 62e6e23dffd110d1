import type { BatchSubmitted } from '../../shared/events/batch-submitted.ts';
import type { EventLog } from '../../shared/log/event-log.ts';
import type { Logger } from '../../shared/service/logger.ts';

type Batch = BatchSubmitted['data'];
type Options = {
  readonly log: Pick<EventLog, 'follow' | 'ends'>;
  readonly logger: Logger;
  readonly signal: AbortSignal;
  /** ms since 1970 */
  readonly now?: () => number;
};

/**
 * For how long the open batches have waited, by the time of their facts, so that a restart does not shorten
 * it. Rows hold no times: the fact is looked up once per batch, after the last of its samples.
 */
export function createBatchWait({ log, logger, signal, now = Date.now }: Options) {
  const open = new Map<string, { readonly batchId: string; since: number }>();

  const lookUp = async (batch: Batch): Promise<void> => {
    const [first] = batch.samples;
    if (first === undefined) return;
    const { partition } = first.at;
    const last = Math.max(...batch.samples.map(({ at }) => at.offset));
    const from = { ...(await log.ends('training')), [partition]: last };
    const stop = new AbortController();
    const { caughtUp, done } = log.follow(
      'training',
      from,
      ({ event }) => {
        if (event.type !== 'batch.submitted' || event.data.batchId !== batch.batchId) return;
        const known = open.get(batch.adapter);
        if (known?.batchId === batch.batchId) known.since = Math.min(known.since, Date.parse(event.time));
        stop.abort();
      },
      AbortSignal.any([signal, stop.signal]),
    );
    await Promise.race([caughtUp, done]).finally(() => stop.abort());
    await done;
  };

  return {
    /** Which batch of an adapter is open now, if one is. */
    see: (adapter: string, batch: Batch | null): void => {
      if (batch === null) open.delete(adapter);
      if (batch === null || open.get(adapter)?.batchId === batch.batchId) return;
      open.set(adapter, { batchId: batch.batchId, since: now() });
      lookUp(batch).catch((error: unknown) => {
        if (!signal.aborted)
          logger.warn({ err: error, batch: batch.batchId }, 'since when it waits is not known');
      });
    },
    /** s that the longest-waiting one has waited; 0: none is open. */
    seconds: (): number => {
      const since = Math.min(...[...open.values()].map((one) => one.since));
      return Number.isFinite(since) ? Math.max(0, (now() - since) / 1000) : 0;
    },
  };
}
export type BatchWait = ReturnType<typeof createBatchWait>;
