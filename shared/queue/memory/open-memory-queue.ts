import PQueue from 'p-queue';
import { aborted } from '../../lang/async.ts';
import { backoffDelay } from '../backoff.ts';
import type { Attempt, Job, JobQueue, JobQueueSettings } from '../job-queue.ts';

type Entry<Data> = {
  readonly job: Job<Data>;
  state: 'waiting' | 'running' | 'delayed' | 'failed';
  attempts: number;
  error: string;
  stop: AbortController;
  timer?: NodeJS.Timeout;
};

type Entries<Data> = Map<string, Entry<Data>>;

type Handler<Data> = (job: Attempt<Data>, signal: AbortSignal) => Promise<void>;

const dropped = new Error('the job was dropped');
const workEnded = new Error('the worker is ending');

/**
 * An in-process queue; its jobs need not survive the process. p-queue provides the slots and the time limit. A
 * handler that ignores its signal loses its slot at the limit; its id is not retried until the handler returns.
 * One worker at a time; `random` provides the jitter.
 */
export function openMemoryQueue<Data>(
  name: string,
  settings: JobQueueSettings,
  random: () => number = Math.random,
): JobQueue<Data> {
  const entries: Entries<Data> = new Map();
  const attempts = openAttempts(entries, settings, random);

  const failedEntries = () => [...entries.values()].filter(({ state }) => state === 'failed');

  function retryEntry(entry: Entry<Data>): void {
    entry.attempts = 0;
    void attempts.enqueue(entry);
  }

  const drop = async () => {
    const droppedEntries = [...entries.values()];
    entries.clear();
    for (const entry of droppedEntries) {
      clearTimeout(entry.timer);
      entry.stop.abort(dropped);
    }
  };

  return {
    name,
    add: async (jobs) => {
      for (const job of jobs) {
        if (entries.has(job.id)) continue;
        const entry: Entry<Data> = {
          job,
          state: 'waiting',
          attempts: 0,
          error: '',
          stop: new AbortController(),
        };
        entries.set(job.id, entry);
        void attempts.enqueue(entry);
      }
    },
    work: async (run, { concurrency }, signal) => {
      if (attempts.isWorking()) throw new Error(`the queue ${name} already has a worker`);
      if (signal.aborted) return;
      await attempts.work(run, concurrency, signal);
    },
    counts: async () => {
      const counts = { waiting: 0, running: 0, delayed: 0, failed: 0 };
      for (const { state } of entries.values()) counts[state] += 1;
      return counts;
    },
    failed: async (limit) =>
      failedEntries()
        .slice(0, Math.max(0, limit))
        .map(({ job, attempts: attempted, error }) => ({ ...job, attempts: attempted, error })),
    retry: async (id) => {
      const entry = entries.get(id);
      if (entry?.state !== 'failed') return false;
      retryEntry(entry);
      return true;
    },
    retryAll: async () => {
      const failed = failedEntries();
      for (const entry of failed) retryEntry(entry);
      return failed.length;
    },
    drop,
    close: drop,
  };
}

/** Runs the attempts of jobs; `entries` are the jobs that the queue keeps. */
function openAttempts<Data>(entries: Entries<Data>, settings: JobQueueSettings, random: () => number) {
  const slots = new PQueue({ autoStart: false });
  /** handlers that have not returned, including those of dropped and overdue attempts */
  const busy = new Map<string, Promise<boolean>>();
  let handler: Handler<Data> | undefined;

  const isKept = (entry: Entry<Data>) => entries.get(entry.job.id) === entry;

  async function enqueue(entry: Entry<Data>): Promise<void> {
    entry.state = 'waiting';
    entry.stop = new AbortController();
    while (busy.has(entry.job.id)) await busy.get(entry.job.id);
    if (!isKept(entry)) return;
    const { signal: stop } = entry.stop;
    try {
      await slots.add(({ signal }) => attempt(entry, signal ?? stop), {
        signal: stop,
        timeout: settings.timeLimitMs,
      });
      if (isKept(entry)) entries.delete(entry.job.id);
    } catch (error) {
      if (!isKept(entry)) return;
      if (error === workEnded) await resume(entry);
      else failedOnce(entry, error);
    }
  }

  function attempt(entry: Entry<Data>, signal: AbortSignal): Promise<void> {
    entry.state = 'running';
    entry.attempts += 1;
    const { id } = entry.job;
    const work = (async () => handler!({ ...entry.job, attempt: entry.attempts }, signal))();
    const returned = work.then(
      () => true,
      () => false,
    );
    const settled = returned.then((done) => {
      busy.delete(id);
      return done;
    });
    busy.set(id, settled);
    return work;
  }

  /** The worker ended during this attempt, which does not count unless it still succeeded. */
  async function resume(entry: Entry<Data>): Promise<void> {
    const done = (await busy.get(entry.job.id)) ?? false;
    if (!isKept(entry)) return;
    if (done) return void entries.delete(entry.job.id);
    entry.attempts -= 1;
    void enqueue(entry);
  }

  function failedOnce(entry: Entry<Data>, error: unknown): void {
    entry.error = error instanceof Error ? error.message : String(error);
    if (entry.attempts >= settings.attempts) {
      entry.state = 'failed';
      return;
    }
    entry.state = 'delayed';
    const delay = backoffDelay(settings, entry.attempts, random());
    entry.timer = setTimeout(() => void enqueue(entry), delay);
  }

  return {
    enqueue,
    isWorking: () => handler !== undefined,
    /** Runs until the signal aborts and every handler has returned. */
    work: async (run: Handler<Data>, concurrency: number, signal: AbortSignal): Promise<void> => {
      handler = run;
      slots.concurrency = concurrency;
      slots.start();
      await aborted(signal);
      slots.pause();
      for (const entry of entries.values()) if (entry.state === 'running') entry.stop.abort(workEnded);
      await Promise.all(busy.values());
      handler = undefined;
    },
  };
}
