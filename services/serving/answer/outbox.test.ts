import { writeFileSync } from 'node:fs';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { ClawLoopEvent } from '../../../shared/events/catalogue.ts';
import { FeedbackGiven } from '../../../shared/events/feedback-given.ts';
import { createLogger, type Logger } from '../../../shared/runtime/logger.ts';
import { openOutbox } from './outbox.ts';
import { createRecorder } from './recorder.ts';

const listed = vi.hoisted(() => ({ names: 0 }));
vi.mock('node:fs/promises', async (original) => {
  const actual = await original<typeof import('node:fs/promises')>();
  const readdir = async (path: string) => {
    const names = await actual.readdir(path);
    listed.names += names.length;
    return names;
  };
  return { ...actual, readdir };
});

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'clawloop-outbox-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const fact = (n: number): ClawLoopEvent =>
  FeedbackGiven.create({
    id: `feedback-${n}`,
    source: 'test',
    time: '2026-01-01T00:00:00Z',
    data: { interactionId: 'x', lane: 'lane', key: 'key', score: n },
  });

function recorderOver(
  append: (event: ClawLoopEvent) => Promise<void>,
  outbox: Awaited<ReturnType<typeof openOutbox>>,
  logger: Logger = createLogger('test', 'silent'),
) {
  const outcomes: string[] = [];
  const recorder = createRecorder({
    log: { append: async ([event]) => append(event!) },
    outbox,
    appendTimeoutMs: 20,
    drainIntervalMs: 1e6,
    logger,
    onOutcome: (outcome) => outcomes.push(outcome),
  });
  return { recorder, outcomes };
}

test('events keep their order through an outage and a restart', async () => {
  const log: string[] = [];
  let away = true;
  const append = async ({ id }: ClawLoopEvent) => {
    if (away) throw new Error('away');
    log.push(id);
  };
  const first = recorderOver(append, await openOutbox(folder));
  for (const n of [1, 2, 3]) expect(await first.recorder.record(fact(n))).toBe(true);
  await first.recorder.close();
  const reopened = await openOutbox(folder);
  expect(reopened.depth()).toBe(3);
  const second = recorderOver(append, reopened);
  away = false;
  expect(await second.recorder.record(fact(4))).toBe(true);
  expect(second.outcomes).toEqual(['outbox']); // behind those that wait
  await second.recorder.drain();
  await second.recorder.record(fact(5));
  expect(log).toEqual([1, 2, 3, 4, 5].map((n) => `feedback-${n}`));
  await second.recorder.close();
});

test('replicas that share the folder share its events in order', async () => {
  const log: string[] = [];
  let away = true;
  const append = async ({ id }: ClawLoopEvent) => {
    if (away) throw new Error('away');
    log.push(id);
  };
  const first = recorderOver(append, await openOutbox(folder));
  const second = recorderOver(append, await openOutbox(folder));
  await first.recorder.record(fact(1));
  away = false;
  await second.recorder.record(fact(2)); // after the event of the other recorder
  expect(second.outcomes).toEqual(['outbox']);
  await Promise.all([first.recorder.drain(), second.recorder.drain()]);
  expect(log).toEqual(['feedback-1', 'feedback-2']);
  expect((await readdir(folder)).filter((name) => name.endsWith('.json'))).toEqual([]);
  await first.recorder.drain(); // sees that nothing is left
  expect(await first.recorder.record(fact(3))).toBe(true);
  expect(log.at(-1)).toBe('feedback-3');
  await Promise.all([first.recorder.close(), second.recorder.close()]);
});

test('one process drains at a time, unless it is stuck', async () => {
  const stuck = await openOutbox(folder);
  const other = await openOutbox(folder);
  for (const n of [1, 2]) await stuck.put(fact(n));
  const holding = Promise.withResolvers<void>();
  void stuck.drain(() => {
    holding.resolve();
    return new Promise(() => {}); // as if it were stopped
  });
  await holding.promise;
  const seen: string[] = [];
  const take = async ({ id }: ClawLoopEvent) => void seen.push(id);
  vi.useFakeTimers({ toFake: ['performance'] });
  try {
    expect(await other.drain(take)).toBe(0);
    vi.advanceTimersByTime(9_000);
    expect(await other.drain(take)).toBe(0);
    vi.advanceTimersByTime(2_000);
    expect(await other.drain(take)).toBe(2);
  } finally {
    vi.useRealTimers();
  }
  expect(seen).toEqual(['feedback-1', 'feedback-2']);
});

test('an event in flight to the log is not sent again', async () => {
  const landed = Promise.withResolvers<void>();
  let sent = 0;
  const append = () => {
    sent += 1;
    return landed.promise;
  };
  const { recorder } = recorderOver(append, await openOutbox(folder));
  await recorder.record(fact(1));
  await recorder.drain();
  await recorder.drain();
  expect(recorder.outboxDepth()).toBe(1);
  landed.resolve();
  await recorder.drain();
  expect(recorder.outboxDepth()).toBe(0);
  expect(sent).toBe(1);
  await recorder.close();
});

test('recording does not wait for an unresponsive log', async () => {
  const { recorder, outcomes } = recorderOver(() => new Promise(() => {}), await openOutbox(folder));
  expect(await recorder.record(fact(1))).toBe(true);
  expect(outcomes).toEqual(['outbox']);
  await recorder.close();
});

const factOf = (key: string, n: number, comment = ''): ClawLoopEvent =>
  FeedbackGiven.create({
    id: `feedback-${key}-${n}`,
    source: 'test',
    time: '2026-01-01T00:00:00Z',
    data: { interactionId: 'x', lane: 'lane', key, score: 0, comment },
  });

test('the outbox limits its bytes, and those of one key, also after a restart', async () => {
  const room = 40_000;
  const put = async (outbox: Awaited<ReturnType<typeof openOutbox>>, key: string, n: number) =>
    outbox.put(factOf(key, n, 'x'.repeat(5_000))).then(
      () => 'kept',
      ({ message }: Error) => message.replace(/:.*/, ''),
    );
  const first = await openOutbox(folder, room);
  for (const n of [1, 2, 3]) expect(await put(first, 'ann', n)).toBe('kept');
  expect(await put(first, 'ann', 4)).toBe('an access key has filled its part of the outbox');
  const second = await openOutbox(folder, room);
  expect(await put(second, 'ann', 5)).toBe('an access key has filled its part of the outbox');
  for (const n of [1, 2, 3]) expect(await put(second, 'bob', n)).toBe('kept');
  expect(await put(second, 'eve', 1)).toBe('kept');
  expect(await put(second, 'eve', 2)).toBe('the outbox is full');
  const seen: string[] = [];
  expect(await second.drain(async ({ id }) => void seen.push(id))).toBe(7);
  expect(seen).toHaveLength(7);
  for (const n of [1, 2, 3]) expect(await put(second, 'eve', n)).toBe('kept');
  const { recorder, outcomes } = recorderOver(() => Promise.reject(new Error('away')), second);
  expect(await recorder.record(factOf('eve', 4, 'x'.repeat(5_000)))).toBe(false);
  expect(outcomes).toEqual(['lost']);
  await recorder.close();
});

test('a warning precedes the first event that the outbox refuses', async () => {
  const lines: string[] = [];
  const logger = createLogger('test', 'warn', { write: (line) => void lines.push(line) });
  const said = (text: string) => lines.filter((line) => line.includes(text)).length;
  const outbox = await openOutbox(folder, 40_000);
  const { recorder } = recorderOver(() => Promise.reject(new Error('away')), outbox, logger);
  const record = (n: number) => recorder.record(factOf('ann', n, 'x'.repeat(5_000)));
  expect([await record(1), said('the outbox fills')]).toEqual([true, 0]);
  expect([await record(2), said('the outbox fills')]).toEqual([true, 1]);
  expect(lines.find((line) => line.includes('the outbox fills'))).toMatch(/"reason":"5\d % full"/);
  expect([await record(3), await record(4)]).toEqual([true, false]);
  expect(said('event lost')).toBe(1);
  await recorder.close();
});

test('the cost of an event does not grow with the outbox', async () => {
  const names = Array.from({ length: 2_000 }, (_, n) => `${String(n).padStart(15, '0')}-x.json`);
  for (const name of names) writeFileSync(join(folder, name), '{');
  const outbox = await openOutbox(folder);
  expect(outbox.depth()).toBe(2_000);
  listed.names = 0;
  for (let n = 0; n < 60; n++) await outbox.put(fact(n));
  expect(listed.names).toBeLessThan(60 * 150);
  expect(outbox.depth()).toBe(2_060);
});

test('an unreadable event is set aside and blocks nothing', async () => {
  await writeFile(join(folder, '000000000000001-0-0.json'), '{');
  const outbox = await openOutbox(folder);
  await outbox.put(fact(1));
  const seen: string[] = [];
  await outbox.drain(async ({ id }) => void seen.push(id));
  expect(seen).toEqual(['feedback-1']);
  expect(outbox.depth()).toBe(0);
  expect((await readdir(folder)).filter((name) => name.endsWith('.broken'))).toHaveLength(1);
});

test('an event too large for any log is set aside and blocks nothing', async () => {
  const outbox = await openOutbox(folder);
  for (const n of [1, 2]) await outbox.put(fact(n));
  const seen: string[] = [];
  const tooLarge = Object.assign(new Error('too large'), { name: 'RecordTooLarge' });
  const aside: string[] = [];
  const append = async ({ id }: ClawLoopEvent) => {
    if (id === 'feedback-1') throw tooLarge;
    seen.push(id);
  };
  await outbox.drain(append, (path) => aside.push(path));
  expect(seen).toEqual(['feedback-2']);
  expect(aside).toHaveLength(1);
  expect(outbox.depth()).toBe(0);
  expect((await readdir(folder)).filter((name) => name.endsWith('.broken'))).toHaveLength(1);
});

test('a clock that is set back does not change the order', async () => {
  vi.useFakeTimers({ toFake: ['Date'] });
  try {
    const times = ['2026-01-01T10:00Z', '2026-01-01T09:00Z', '2026-01-01T08:00Z'];
    for (const [n, time] of times.entries()) {
      vi.setSystemTime(new Date(time));
      await (await openOutbox(folder)).put(fact(n));
    }
  } finally {
    vi.useRealTimers();
  }
  const seen: string[] = [];
  await (await openOutbox(folder)).drain(async ({ id }) => void seen.push(id));
  expect(seen).toEqual(['feedback-0', 'feedback-1', 'feedback-2']);
});

test('an event too large for any log is reported as lost and blocks nothing', async () => {
  const tooLarge = Object.assign(new Error('too large'), { name: 'RecordTooLarge' });
  const { recorder, outcomes } = recorderOver(() => Promise.reject(tooLarge), await openOutbox(folder));
  expect(await recorder.record(fact(1))).toBe(false);
  expect(outcomes).toEqual(['lost']);
  await recorder.close();
});
