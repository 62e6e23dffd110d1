import { setTimeout as delay } from 'node:timers/promises';
import type { Job } from '../job-queue.ts';

const BATCH = 1000;
const TRIES = 3;
/** ms between two tries */
const PAUSE_MS = 200;

/**
 * Sends jobs one batch at a time; what is added meanwhile makes up the next one, an id once. So many callers
 * cost few round trips, and while Redis is away memory holds each owed job once. It never rejects: a batch
 * that cannot be sent is told and let go, for what is owed is added again.
 */
export function createAdder<Data>(
  send: (jobs: readonly Job<Data>[]) => Promise<unknown>,
  onTrouble: (error: Error) => void,
) {
  let pending = new Map<string, Job<Data>>();
  let sending: Promise<void> | undefined;
  let closed = false;

  async function sendBatch(batch: readonly Job<Data>[]): Promise<void> {
    for (let tries = 1; !closed; tries += 1) {
      try {
        await send(batch);
        return;
      } catch (error) {
        if (closed) return;
        if (tries === TRIES) return onTrouble(error as Error);
        await delay(PAUSE_MS);
      }
    }
  }

  async function sendAll(): Promise<void> {
    while (pending.size > 0) {
      const jobs = [...pending.values()];
      pending = new Map();
      for (let from = 0; from < jobs.length; from += BATCH) await sendBatch(jobs.slice(from, from + BATCH));
    }
    sending = undefined;
  }

  return {
    add: async (jobs: readonly Job<Data>[]): Promise<void> => {
      if (closed || jobs.length === 0) return;
      for (const job of jobs) if (!pending.has(job.id)) pending.set(job.id, job);
      sending ??= sendAll();
      await sending;
    },
    /** Lets go what is not yet on its way. */
    clear: (): void => pending.clear(),
    close: (): void => {
      closed = true;
      pending.clear();
    },
  };
}
