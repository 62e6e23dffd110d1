import { retry } from '../../lang/async.ts';
import type { Job } from '../job-queue.ts';

const BATCH = 1000;
/** ms before the second and the third try */
const WAITS_MS = [200, 200];

/**
 * Sends jobs one batch at a time. Jobs added meanwhile form the next batch, each id once, so that many callers
 * cost few round trips, and memory holds each job once while Redis is away. It never rejects: a batch that
 * cannot be sent is reported and dropped, because owed jobs are added again.
 */
export function createAdder<Data>(
  send: (jobs: readonly Job<Data>[]) => Promise<unknown>,
  onTrouble: (error: Error) => void,
) {
  let pending = new Map<string, Job<Data>>();
  let sending: Promise<void> | undefined;
  let closed = false;

  async function sendBatch(batch: readonly Job<Data>[]): Promise<void> {
    const sendUnlessClosed = async () => closed || (await send(batch));
    const onFailure = (error: unknown) => {
      if (closed) throw error;
    };
    await retry(sendUnlessClosed, { waits: WAITS_MS, onFailure }).catch((error: Error) => {
      if (!closed) onTrouble(error);
    });
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
    /** Drops jobs that are not being sent yet. */
    clear: (): void => pending.clear(),
    close: (): void => {
      closed = true;
      pending.clear();
    },
  };
}
