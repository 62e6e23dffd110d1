import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { BatchSubmitted } from '../../shared/events/batch-submitted.ts';
import { LearningPaused } from '../../shared/events/learning-paused.ts';
import type { EventLog } from '../../shared/log/event-log.ts';
import { openSqliteLog } from '../../shared/log/sqlite/open-sqlite-log.ts';
import { createLogger } from '../../shared/runtime/logger.ts';
import { createBatchWait } from './batch-wait.ts';
import { batchData, sampleData } from './testing/facts.ts';

let folder: string;
let log: EventLog;
const stop = new AbortController();
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'clawloop-batch-wait-'));
  log = await openSqliteLog({ folder, partitions: 1 });
});
afterEach(async () => {
  stop.abort();
  await log.close();
  await rm(folder, { recursive: true, force: true });
});

test('a batch waits since its event was written, even if the trainer starts later', async () => {
  const time = '2026-01-01T12:00:00.000Z';
  const origin = { source: 'test', time };
  const data = batchData(1, [sampleData('a')]);
  await log.append([
    LearningPaused.create({ ...origin, id: 'paused', data: { adapter: 'default' } }),
    BatchSubmitted.create({ ...origin, id: data.batchId, data }),
  ]);
  const wait = createBatchWait({
    log,
    logger: createLogger('test', 'silent'),
    signal: stop.signal,
    now: () => Date.parse(time) + 90_000,
  });
  expect(wait.seconds()).toBe(0);
  wait.see('default', data);
  wait.see('default', data);
  await expect.poll(wait.seconds, { timeout: 20_000 }).toBe(90);
  wait.see('default', null);
  expect(wait.seconds()).toBe(0);
});
