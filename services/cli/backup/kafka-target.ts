import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { KafkaConnectionOptions } from '../../../shared/log/kafka/connection.ts';
import { type LogRestore, openLogRestore, requireNoLog } from '../../../shared/log/kafka/log-restore.ts';
import { Refusal } from '../../../shared/runtime/refusal.ts';
import { filesBelow, type Reading } from './copy-file.ts';
import {
  type KafkaLog,
  pathOfRows,
  readKafkaLog,
  readRecords,
  readRows,
  recordsFolder,
} from './kafka-files.ts';
import type { Manifest } from './manifest.ts';
import type { LogTarget } from './read-point.ts';

export type KafkaTarget = LogTarget & { readonly close: () => Promise<void> };

/** Topics that get the log of a point. @throws LogMismatch when they hold a log, LogUnavailable */
export async function kafkaTarget(
  connection: KafkaConnectionOptions,
  manifest: Manifest,
): Promise<KafkaTarget> {
  await requireNoLog(connection);
  let restore: LogRestore | undefined;
  return {
    fill: async (staged, reading) => {
      const log = await readKafkaLog(staged);
      requirePartOf(manifest, log);
      restore = await openLogRestore(connection, log);
      await fillTopics(restore, { log, manifest, staged }, reading);
      await fillRows(restore, { log, manifest, staged }, reading);
    },
    finish: async () => void (await restore!.finish()),
    close: async () => restore?.close(),
  };
}

type Filling = { readonly log: KafkaLog; readonly manifest: Manifest; readonly staged: string };

function requirePartOf({ logId, heads, point }: Manifest, log: KafkaLog): void {
  if (log.logId !== logId || heads.length !== log.ranges.length)
    throw new Refusal(`the backup is damaged: the log of ${point} is not the one in its manifest`);
}

async function fillTopics(
  restore: LogRestore,
  { log, manifest, staged }: Filling,
  { onBytes, signal }: Reading,
): Promise<void> {
  for (const range of log.ranges) {
    const head = manifest.heads.find(
      ({ topic, partition }) => topic === range.topic && partition === range.partition,
    )!;
    const folder = join(staged, recordsFolder(range));
    const paths = (await filesBelow(folder)).map((name) => join(folder, name));
    const records = async function* () {
      for (const path of paths) {
        for await (const some of readRecords(path)) {
          signal.throwIfAborted();
          yield some;
        }
        onBytes((await stat(path)).size);
      }
    };
    await restore.partition(range, records(), { link: range.link, head });
  }
}

async function fillRows(
  restore: LogRestore,
  { log, staged }: Filling,
  { onBytes, signal }: Reading,
): Promise<void> {
  for (const group of log.groups)
    for (let partition = 0; partition < log.partitions; partition += 1) {
      signal.throwIfAborted();
      const path = join(staged, pathOfRows(group.group, partition));
      await restore.rows(group, partition, await readRows(path));
      onBytes((await stat(path)).size);
    }
}
