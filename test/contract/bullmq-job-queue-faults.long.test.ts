import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Redis } from 'ioredis';
import { afterEach, expect, test, vi } from 'vitest';
import { type BullQueue, openBullQueue } from '../../shared/queue/bullmq/open-bull-queue.ts';
import type { Attempt, Job, JobQueueSettings } from '../../shared/queue/job-queue.ts';
import { withRedis } from './bullmq-redis.ts';

type Data = { readonly of: string };

const prefix = 'clawloop-faults';
const settings: JobQueueSettings = {
  attempts: 3,
  backoffMs: 5,
  maxBackoffMs: 50,
  jitter: 0.5,
  timeLimitMs: 60_000,
};
const tuning = { lockMs: 1000, stalledCheckMs: 500 };
const none = { waiting: 0, running: 0, delayed: 0, failed: 0 };
const jobs = (ids: Iterable<string>): Job<Data>[] => [...ids].map((id) => ({ id, data: { of: id } }));
const numbered = (count: number) => Array.from({ length: count }, (_, index) => `turn:${index}/vote/1`);
const until = (condition: () => unknown, timeout = 60_000) =>
  vi.waitFor(condition, { timeout, interval: 20 });

withRedis('BullMQ under fire', (redis) => {
  const cleanups: (() => Promise<unknown>)[] = [];
  afterEach(async () => {
    for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
  });

  let opened = 0;
  const newName = () => `faults-${process.pid}-${++opened}`;

  async function open(name: string): Promise<BullQueue<Data>> {
    const queue = await openBullQueue<Data>(name, settings, { url: redis().url, prefix, ...tuning });
    cleanups.push(queue.close);
    return queue;
  }

  function work(queue: BullQueue<Data>, handler: (job: Attempt<Data>, stop: AbortSignal) => Promise<void>) {
    const stop = new AbortController();
    const done = queue.work(handler, { concurrency: 4 }, stop.signal);
    const end = async () => {
      stop.abort();
      await done;
    };
    cleanups.push(end);
    return end;
  }

  function spawnWorker(name: string): { readonly child: ChildProcess; readonly started: string[] } {
    const script = fileURLToPath(new URL('./bullmq-worker.ts', import.meta.url));
    const words = [redis().url, prefix, name, String(tuning.lockMs), String(tuning.stalledCheckMs)];
    const child = spawn(process.execPath, [script, ...words], { stdio: ['ignore', 'pipe', 'inherit'] });
    const started: string[] = [];
    child.stdout.on('data', (text: Buffer) => started.push(...text.toString().trim().split('\n')));
    cleanups.push(() => kill(child));
    return { child, started };
  }

  async function kill(child: ChildProcess): Promise<void> {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const gone = once(child, 'exit');
    child.kill('SIGKILL');
    await gone;
  }

  test('the jobs of a killed worker run again, however often workers die, and no attempt counts as failed', async () => {
    const name = newName();
    const queue = await open(name);
    await queue.add(jobs(['a', 'b', 'c']));
    for (let kills = 0; kills < 3; kills += 1) {
      const { child, started } = spawnWorker(name);
      await until(() => expect(started.length).toBeGreaterThanOrEqual(2));
      await kill(child);
      expect(await queue.counts()).toMatchObject({ failed: 0 });
    }
    const ran: string[] = [];
    const killed = performance.now();
    work(queue, async ({ id, attempt }) => void ran.push(`${id} ${attempt}`));
    await until(() => expect(ran.sort()).toEqual(['a 1', 'b 1', 'c 1']));
    // the rest of a lock's time, and one or two stalled checks
    expect(performance.now() - killed).toBeLessThan(10_000);
    await until(async () => expect(await queue.counts()).toEqual(none));
  });

  test('a worker stopped for longer than its lock loses its jobs to another one, and its return does no harm', async () => {
    const name = newName();
    const queue = await open(name);
    await queue.add(jobs(['a', 'b']));
    const { child, started } = spawnWorker(name);
    await until(() => expect(started.sort()).toEqual(['a', 'b']));
    child.kill('SIGSTOP');
    const ran: string[] = [];
    work(queue, async ({ id }) => void ran.push(id));
    await until(() => expect(ran.sort()).toEqual(['a', 'b']));
    child.kill('SIGCONT');
    await until(async () => expect(await queue.counts()).toEqual(none));
    await queue.add(jobs(['c']));
    await until(() => expect([...ran, ...started]).toContain('c'));
    expect(ran.filter((id) => id !== 'c').sort()).toEqual(['a', 'b']);
  });

  test('after Redis is killed and restarted every job is done, including jobs added during the outage', async () => {
    const queue = await open(newName());
    const ids = numbered(200);
    const done = new Set<string>();
    let overlaps = 0;
    const running = new Set<string>();
    work(queue, async ({ id, attempt }) => {
      if (running.has(id)) overlaps += 1;
      running.add(id);
      await delay(5);
      running.delete(id);
      if (attempt === 1 && id.endsWith('7/vote/1')) throw new Error('the first try fails');
      done.add(id);
    });
    // A job that Redis had not written to disk yet is still owed, so it is added again.
    const addOwed = (of: readonly string[]) => queue.add(jobs(of.filter((id) => !done.has(id))));
    for (const least of [30, 90]) {
      await until(async () => {
        await addOwed(ids.slice(0, 150));
        expect(done.size).toBeGreaterThan(least);
      });
      await redis().kill();
      await until(() => expect(queue.missing()).toMatch(/^Redis at 127\.0\.0\.1:\d+$/));
      await expect(queue.counts()).rejects.toThrow('Redis does not answer');
      const meanwhile = queue.add(jobs(ids.slice(150)));
      await redis().start();
      await meanwhile;
      expect(queue.missing()).toBeUndefined();
    }
    await until(async () => {
      await addOwed(ids);
      expect(done.size).toBe(200);
    });
    await until(async () => expect(await queue.counts()).toEqual(none));
    expect(overlaps).toBe(0);
  });

  test('after repeated FLUSHALLs during work, owed jobs are added again, and no id runs twice at once', async () => {
    const queue = await open(newName());
    const admin = new Redis(redis().url);
    cleanups.push(async () => admin.disconnect());
    const owed = new Set(numbered(300));
    const running = new Set<string>();
    let overlaps = 0;
    work(queue, async ({ id }) => {
      if (running.has(id)) overlaps += 1;
      running.add(id);
      await delay(5);
      running.delete(id);
      owed.delete(id); // the fact is in the log, so the job is no longer owed
    });
    for (let flushes = 0; owed.size > 0; ) {
      await queue.add(jobs(owed));
      const before = owed.size;
      await until(() => expect(owed.size).toBeLessThanOrEqual(Math.max(0, before - 30)));
      if (flushes < 8) await admin.flushall();
      flushes += 1;
      if (flushes > 50) throw new Error(`${owed.size} are still owed`);
    }
    await until(async () => expect(await queue.counts()).toEqual(none));
    expect(overlaps).toBe(0);
  });

  test('while Redis hangs, queries are refused in time, and the end of the work is not delayed', async () => {
    const queue = await open(newName());
    await queue.add(jobs(['a', 'b', 'c']));
    const started: string[] = [];
    const end = work(queue, async ({ id }, stop) => {
      started.push(id);
      await new Promise<never>((_, reject) => stop.addEventListener('abort', () => reject(stop.reason)));
    });
    await until(() => expect(started).toHaveLength(3));
    redis().freeze();
    await expect(queue.counts()).rejects.toThrow('Redis does not answer');
    const from = performance.now();
    await end();
    await queue.close();
    expect(performance.now() - from).toBeLessThan(8000);
    redis().thaw();

    const next = await open(queue.name);
    const ran: string[] = [];
    work(next, async ({ id, attempt }) => void ran.push(`${id} ${attempt}`));
    await until(() => expect(ran.sort()).toEqual(['a 1', 'b 1', 'c 1']));
  });

  test('the queue opens and accepts jobs while Redis is unavailable, and its worker ends in time', async () => {
    await redis().kill();
    const queue = await open(newName());
    const added = queue.add(jobs(['a', 'b']));
    const done = new Set<string>();
    const end = work(queue, async ({ id }) => void done.add(id));
    expect(queue.missing()).toMatch(/^Redis at/);
    await redis().start();
    await added;
    await until(() => expect(done.size).toBe(2));

    await redis().kill();
    const from = performance.now();
    await end();
    await queue.close();
    expect(performance.now() - from).toBeLessThan(8000);
    await redis().start();
  });

  test('5,000 failed jobs, more than a call moves, are retried, and all of them run', async () => {
    const options = { url: redis().url, prefix, keptFailed: 5_000, ...tuning };
    const queue = await openBullQueue<Data>(newName(), { ...settings, attempts: 1 }, options);
    cleanups.push(queue.close);
    const ids = numbered(5_000);
    await queue.add(jobs(ids));
    let broken = true;
    const ran = new Set<string>();
    const stop = new AbortController();
    const handler = async ({ id }: Attempt<Data>) => {
      if (broken) throw new Error('no judge there');
      ran.add(id);
    };
    const done = queue.work(handler, { concurrency: 200 }, stop.signal);
    cleanups.push(async () => {
      stop.abort();
      await done;
    });
    await until(async () => expect(await queue.counts()).toEqual({ ...none, failed: ids.length }), 300_000);
    broken = false;
    expect(await queue.retryAll()).toBe(ids.length);
    await until(async () => expect(await queue.counts()).toEqual(none), 300_000);
    expect(ran.size).toBe(ids.length);
  });
});
