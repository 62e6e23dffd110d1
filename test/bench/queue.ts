import { Queue, Worker } from 'bullmq';
import { Redis } from 'ioredis';
import { type RedisServer, startRedis, whyNoRedis } from '../../infra/redis/start-redis.ts';
import { openBullQueue } from '../../shared/queue/bullmq/open-bull-queue.ts';
import type { Job, JobQueue, JobQueueSettings } from '../../shared/queue/job-queue.ts';
import { openMemoryQueue } from '../../shared/queue/memory/open-memory-queue.ts';

export type QueueBenchRow = {
  readonly what: string;
  readonly memory: number;
  readonly redis: number | null;
  readonly bare: number | null;
};

type Data = { readonly text: string };
/** jobs per second */
type Figures = {
  readonly batched: number;
  readonly single: number;
  readonly alone: number;
  readonly many: number;
};
type Bench = {
  readonly add: (jobs: readonly Job<Data>[]) => Promise<unknown>;
  /** Runs `onJob` for each job until the signal aborts. */
  readonly work: (onJob: () => void, concurrency: number, signal: AbortSignal) => Promise<unknown>;
};

const jobCount = 10_000;
const singleCount = 2_000;
const batch = 100;
const rounds = 3;

/**
 * Jobs per second, of 1 KB each: both queues next to bare bullmq, on one Redis with an append-only file, in turn. Each
 * counts with its best of three rounds, because the machine is shared. Prints a table, and returns it.
 */
export async function benchQueue(): Promise<readonly QueueBenchRow[]> {
  const reason = whyNoRedis();
  if (reason !== undefined) console.log(`only the queue in memory: ${reason}`);
  const redis = reason === undefined ? await startRedis() : undefined;
  const found: { memory: Figures[]; redis: Figures[]; bare: Figures[] } = { memory: [], redis: [], bare: [] };
  for (let round = 0; round < rounds; round += 1) {
    found.memory.push(await measure(asBench(openMemoryQueue<Data>(`memory-${round}`, settings))));
    if (redis === undefined) continue;
    const name = `bench-${round}`;
    // the two alternate in going first
    for (const kind of round % 2 === 0 ? (['redis', 'bare'] as const) : (['bare', 'redis'] as const)) {
      found[kind].push(await (kind === 'redis' ? measureOurs(redis, name) : measureBare(redis, name)));
    }
  }
  const recovery = redis === undefined ? undefined : await timeToRecover(redis);
  await redis?.close();
  const rows = rowsOf(best(found.memory)!, best(found.redis), best(found.bare));
  console.log('\nJob queue, jobs/s (1 KB each)');
  console.table(
    rows.map(({ what, memory, redis: ours, bare }) => ({
      what,
      memory: Math.round(memory),
      redis: ours === null ? '' : Math.round(ours),
      'bare bullmq': bare === null ? '' : Math.round(bare),
      'of bare': ours === null || bare === null ? '' : (ours / bare).toFixed(2),
    })),
  );
  if (recovery !== undefined)
    console.log(`Redis killed and started again: ${Math.round(recovery)} ms until the next job is done`);
  return rows;
}

const settings: JobQueueSettings = {
  attempts: 5,
  backoffMs: 100,
  maxBackoffMs: 1000,
  jitter: 0.5,
  timeLimitMs: 60_000,
};

const jobs = (from: number, count: number): Job<Data>[] =>
  Array.from({ length: count }, (_, n) => ({ id: `job-${from + n}`, data: { text: 'x'.repeat(1000) } }));

async function measure({ add, work }: Bench): Promise<Figures> {
  const batched = await perSecond(jobCount, async () => {
    for (let i = 0; i < jobCount; i += batch) await add(jobs(i, batch));
  });
  const many = await perSecond(jobCount, () => workOff(work, jobCount, 50));
  const single = await perSecond(singleCount, async () => {
    for (let i = 0; i < singleCount; i += 1) await add(jobs(i, 1));
  });
  const alone = await perSecond(singleCount, () => workOff(work, singleCount, 1));
  return { batched, single, alone, many };
}

async function workOff(work: Bench['work'], count: number, concurrency: number): Promise<void> {
  const stop = new AbortController();
  const all = Promise.withResolvers<void>();
  let done = 0;
  const working = work(
    () => {
      done += 1;
      if (done === count) all.resolve();
    },
    concurrency,
    stop.signal,
  );
  await all.promise;
  stop.abort();
  await working;
}

const asBench = (queue: JobQueue<Data>): Bench => ({
  add: queue.add,
  work: (onJob, concurrency, signal) => queue.work(async () => onJob(), { concurrency }, signal),
});

async function measureOurs({ url }: RedisServer, name: string): Promise<Figures> {
  const queue = await openBullQueue<Data>(name, settings, { url, prefix: 'ours' });
  const figures = await measure(asBench(queue));
  await queue.drop();
  await queue.close();
  return figures;
}

async function measureBare({ url }: RedisServer, name: string): Promise<Figures> {
  const connection = new Redis(url, { maxRetriesPerRequest: null });
  const options = { connection, prefix: 'bare' };
  const queue = new Queue(name, options);
  const figures = await measure({
    add: (added) =>
      queue.addBulk(
        added.map(({ id, data }) => ({
          name,
          data,
          opts: {
            jobId: id,
            attempts: 5,
            backoff: { type: 'exponential', delay: 100 },
            removeOnComplete: true,
          },
        })),
      ),
    work: async (onJob, concurrency, signal) => {
      const worker = new Worker(name, async () => onJob(), { ...options, concurrency });
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
      await worker.close();
    },
  });
  await queue.obliterate({ force: true });
  await queue.close();
  connection.disconnect();
  return figures;
}

/** ms from the start of a killed Redis until a job that was added meanwhile is done. */
async function timeToRecover(redis: RedisServer): Promise<number> {
  const queue = await openBullQueue<Data>('recovery', settings, { url: redis.url, prefix: 'ours' });
  const stop = new AbortController();
  const next = Promise.withResolvers<void>();
  const working = queue.work(async () => next.resolve(), { concurrency: 1 }, stop.signal);
  await queue.counts();
  await redis.kill();
  const added = queue.add(jobs(0, 1));
  const from = performance.now();
  await redis.start();
  await next.promise;
  const took = performance.now() - from;
  await added;
  stop.abort();
  await working;
  await queue.close();
  return took;
}

const rowsOf = (memory: Figures, redis: Figures | null, bare: Figures | null): QueueBenchRow[] => {
  const row = (what: string, key: keyof Figures): QueueBenchRow => ({
    what,
    memory: memory[key],
    redis: redis?.[key] ?? null,
    bare: bare?.[key] ?? null,
  });
  return [
    row(`add, ${batch} at a time`, 'batched'),
    row('add, one by one', 'single'),
    row('work, 50 at a time', 'many'),
    row('work, one by one', 'alone'),
  ];
};

function best(figures: readonly Figures[]): Figures | null {
  if (figures.length === 0) return null;
  const most = (key: keyof Figures) => Math.max(...figures.map((one) => one[key]));
  return { batched: most('batched'), single: most('single'), alone: most('alone'), many: most('many') };
}

async function perSecond(count: number, work: () => Promise<void>): Promise<number> {
  const from = performance.now();
  await work();
  return (1_000 * count) / (performance.now() - from);
}
