import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { defined } from '../../lang/defined.ts';
import { logError } from '../errors.ts';
import type { KafkaStore } from './kafka-store.ts';

/**
 * The first record of the meta topic names the log. If several processes write a record, the first wins.
 *
 * A restore writes a record of version 2 first, which says that the topics are not complete, and names the log with
 * another one at its end. So programs without version 2 open no restored log: they do not know fillers.
 *
 * Later records say that another prefix has the log: an erasure copied it there.
 */
const plainVersion = 1;
const restoredVersion = 2;

const replacement = z.object({
  prefix: z.string().describe('of the topics that have the log now'),
  restore: z.string().describe('that filled them'),
  topics: z.array(z.string()).describe('of the old prefix, which the others replace'),
  isDeleted: z.boolean().describe('whether their deletion has begun'),
});
export type Replacement = z.output<typeof replacement>;

const metaRecord = z.object({
  logId: z.string(),
  schemaVersion: z.int(),
  restoring: z.string().optional().describe('the restore that has begun'),
  restored: z.string().optional().describe('the restore that is complete'),
  replacedBy: replacement.optional(),
});

type MetaStore = Pick<KafkaStore, 'query' | 'queue'> & {
  readonly connection: Pick<KafkaStore['connection'], 'metaTopic'>;
};

export type Meta =
  | { readonly kind: 'empty' }
  | {
      readonly kind: 'named';
      readonly logId: string;
      /** the restore that wrote the log */
      readonly restore?: string;
      readonly replacedBy?: Replacement;
    }
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
  const name = restoring === undefined ? first : records.find(({ restored }) => restored === restoring);
  if (name === undefined) return { kind: 'unfinished', restore: restoring! };
  const replacedBy = records.findLast((record) => record.replacedBy !== undefined)?.replacedBy;
  return { kind: 'named', logId: name.logId, ...defined({ restore: restoring, replacedBy }) };
}

/** @throws LogMismatch when another prefix has the log now */
export function requireNotReplaced(
  { metaTopic }: Pick<KafkaStore['connection'], 'metaTopic'>,
  { replacedBy }: Extract<Meta, { readonly kind: 'named' }>,
): void {
  if (replacedBy === undefined) return;
  throw logError(
    'LogMismatch',
    `clawloop forget has copied the log of ${metaTopic} to other topics: give --kafka-prefix ${replacedBy.prefix}`,
  );
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

/** The id of the log; names a log that has none. @throws LogMismatch while a restore has not finished, or when the log was replaced */
export async function findLogId(store: MetaStore, timeoutMs: number): Promise<string> {
  const { metaTopic } = store.connection;
  let meta = await readMeta(store);
  if (meta.kind === 'empty') {
    await writeMeta(store, { logId: randomUUID(), schemaVersion: plainVersion }, timeoutMs);
    meta = await readMeta(store);
  }
  if (meta.kind === 'named') {
    requireNotReplaced(store.connection, meta);
    return meta.logId;
  }
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

/** Says that another prefix has the log: no service opens this one from now on. */
export const noteReplacement = (
  store: MetaStore,
  { logId, replacedBy }: { readonly logId: string; readonly replacedBy: Replacement },
  timeoutMs: number,
) => writeMeta(store, { logId, schemaVersion: restoredVersion, replacedBy }, timeoutMs);

async function writeMeta(
  { connection, queue }: MetaStore,
  record: z.input<typeof metaRecord>,
  timeoutMs: number,
): Promise<void> {
  const value = Buffer.from(JSON.stringify(record));
  const message = { key: 'log', value, partition: 0 };
  await queue.append([{ topic: connection.metaTopic, message, bytes: value.length }], timeoutMs);
}
