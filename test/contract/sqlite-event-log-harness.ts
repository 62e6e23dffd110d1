import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { EventLog } from '../../shared/log/event-log.ts';
import { partitionOf } from '../../shared/log/partition-of.ts';
import { openSqliteLog } from '../../shared/log/sqlite/open-sqlite-log.ts';
import { columnsOf, monotonicMs } from '../../shared/log/sqlite/protocol.ts';
import { openStore } from '../../shared/log/sqlite/store.ts';
import { type Child, startChild } from './event-log-child.ts';
import type { LogHarness } from './log-harness.ts';

const partitions = 3;

/** A log in a folder of its own. */
export async function sqliteHarness(
  sessionTimeoutMs = 1_500,
): Promise<LogHarness & { readonly folder: string }> {
  const folder = await mkdtemp(join(tmpdir(), 'clawloop-log-'));
  const opened: EventLog[] = [];
  return {
    folder,
    opener: new URL('./sqlite-event-log-opener.ts', import.meta.url).href,
    connection: { folder, sessionTimeoutMs },
    sessionTimeoutMs,
    hasDenseOffsets: true,
    open: async (options) => {
      const log = await openSqliteLog({ folder, partitions, sessionTimeoutMs, ...options });
      opened.push(log);
      return log;
    },
    inject: async (topic, subject, body) => {
      const store = await openStore({
        file: join(folder, 'log.sqlite'),
        folder,
        partitions,
        sessionTimeoutMs,
        stepsModule: undefined,
      });
      const record = { topic, partition: partitionOf(subject, partitions), type: '', subject, body };
      await store.call('append', { records: columnsOf([record]), deadline: monotonicMs() + 5_000 });
      await store.close();
    },
    lose: async (topic, { partition, offset }) => {
      const db = new DatabaseSync(join(folder, 'log.sqlite'));
      const { id } = db.prepare('SELECT id FROM topics WHERE name = ?').get(topic)!;
      const key = (Number(id) * 256 + partition) * 2 ** 40 + offset;
      db.prepare('DELETE FROM records WHERE k = ?').run(key);
      db.close();
    },
    dispose: async () => {
      await Promise.all(opened.map((log) => log.close()));
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** A process that does a task on the log, and signals itself at the steps for which a file in the folder asks. */
export const startSteppedChild = (
  { opener, folder, sessionTimeoutMs }: Awaited<ReturnType<typeof sqliteHarness>>,
  task: Parameters<typeof startChild>[0]['task'],
): Child =>
  startChild({
    opener,
    connection: {
      folder,
      sessionTimeoutMs,
      stepsModule: new URL('./sqlite-event-log-step.ts', import.meta.url).href,
    },
    task,
  });
