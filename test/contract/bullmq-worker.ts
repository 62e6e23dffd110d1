// A worker in its own process. Arguments: url, prefix, name, lock and stalled check (ms). Prints each job that it
// starts; no job ends.
import { openBullQueue } from '../../shared/queue/bullmq/open-bull-queue.ts';

const [url = '', prefix = '', name = '', lockMs = '', stalledCheckMs = ''] = process.argv.slice(2);
const queue = await openBullQueue(
  name,
  { attempts: 3, backoffMs: 1, maxBackoffMs: 8, jitter: 0, timeLimitMs: 600_000 },
  { url, prefix, lockMs: Number(lockMs), stalledCheckMs: Number(stalledCheckMs) },
);
const never = new AbortController();
const hold = (job: { readonly id: string }) => {
  process.stdout.write(`${job.id}\n`);
  return new Promise<void>(() => undefined);
};
await queue.work(hold, { concurrency: 2 }, never.signal);
