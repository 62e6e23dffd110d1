import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { logError } from '../errors.ts';
import type { KafkaStore } from './kafka-store.ts';

/**
 * The first record of the meta topic names the log. If several processes write a record, the first wins.
 *
 * A restore writes a record of version 2 first, which says that the topics are not complete, and names the log with
 * another one at its end. So programs without version 2 open no restored log: they do not know fillers.
 */
const plainVersion = 1;
const restoredVersion = 2;

const metaRecord = z.object({
  logId: z.string(),
  schemaVersion: z.int(),
  restoring: z.string().optional().describe('the restore that has begun'),
  restored: z.string().optional().describe('the restore that is complete'),
});

type MetaStore = Pick<KafkaStore, 'query' | 'queue'> & {
  readonly connection: Pick<KafkaStore['connection'], 'metaTopic'>;
};

export type Meta =
  | { readonly kind: 'empty' }
  | { readonly kind: 'named'; readonly logId: string }
  /** `restore`: of the restore that has not finished */
  | { readonly kind: 'unfinished'; readonly restore: string };

/** @throws NewerSchema, LogUnavailable */
export async function readMeta({ connection, query }: Omit<MetaStore, 'queue'>): Promise<Meta> {
  const topic = connection.metaTopic;
  const records = (await readAll(query, topic)).map((text) => metaRecord.parse(JSON.parse(text)));
  const [first] = records;
  if (first === undefined) return { kind: 'empty' };
  if (first.schemaVersion > restoredVersion) {
    throw logError(
      'NewerSchema',
      `${topic} has schema ${first.schemaVersion}; this version of ClawLoop knows up to ${restoredVersion}: update it`,
    );
  }
  const { restoring } = first;
  if (restoring === undefined) return { kind: 'named', logId: first.logId };
  const name = records.find(({ restored }) => restored === restoring);
  return name === undefined
    ? { kind: 'unfinished', restore: restoring }
    : { kind: 'named', logId: name.logId };
}

async function readAll(query: KafkaStore['query'], topic: string): Promise<readonly string[]> {
  const end = (await query.offsets(topic, 'end'))[0]!;
  const texts: string[] = [];
  for (let at = 0; at < end; ) {
    const [fetched] = await query.fetch(topic, new Map([[0, at]]), { waitMs: 1_000 });
    if (fetched === undefined || fetched.next === at)
      throw logError('LogUnavailable', `${topic} cannot be read`);
    texts.push(...fetched.records.map(({ value }) => value?.toString('utf8') ?? ''));
    at = fetched.next;
  }
  return texts;
}

/** The id of the log; names a log that has none. @throws LogMismatch while a restore has not finished */
export async function findLogId(store: MetaStore, timeoutMs: number): Promise<string> {
  const { metaTopic } = store.connection;
  let meta = await readMeta(store);
  if (meta.kind === 'empty') {
    await writeMeta(store, { logId: randomUUID(), schemaVersion: plainVersion }, timeoutMs);
    meta = await readMeta(store);
  }
  if (meta.kind === 'named') return meta.logId;
  if (meta.kind === 'empty') throw logError('LogUnavailable', `${metaTopic} cannot be read`);
  throw logError(
    'LogMismatch',
    `a restore into the topics of ${metaTopic} has not finished: run clawloop restore again, or give another --kafka-prefix`,
  );
}

type Restore = { readonly logId: string; readonly restore: string };

/** Says that the topics are not complete: no service opens the log from now on. */
export const beginRestore = (store: MetaStore, { logId, restore }: Restore, timeoutMs: number) =>
  writeMeta(store, { logId, schemaVersion: restoredVersion, restoring: restore }, timeoutMs);

/** Names the log: services may open it from now on. */
export const finishRestore = (store: MetaStore, { logId, restore }: Restore, timeoutMs: number) =>
  writeMeta(store, { logId, schemaVersion: restoredVersion, restored: restore }, timeoutMs);

async function writeMeta(
  { connection, queue }: MetaStore,
  record: z.input<typeof metaRecord>,
  timeoutMs: number,
): Promise<void> {
  const value = Buffer.from(JSON.stringify(record));
  const message = { key: 'log', value, partition: 0 };
  await queue.append([{ topic: connection.metaTopic, message, bytes: value.length }], timeoutMs);
}
