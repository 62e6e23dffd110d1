import { connectTo, type KafkaConnectionOptions } from './connection.ts';
import type { StoredRow } from './follow-rows.ts';
import type { ReadStore } from './log-cut.ts';
import { openTopicReader } from './topic-reader.ts';
import { existing } from './topics-of-log.ts';

/** The entries of the access keys of a prefix, in order; none without the topic. @throws LogUnavailable */
export async function readKeyRecords({
  connection,
  query,
}: Pick<ReadStore, 'connection' | 'query'>): Promise<readonly StoredRow[]> {
  const topic = connection.keysTopic;
  if ((await existing(connection, [topic])).length === 0) return [];
  const [at = 0] = await query.offsets(topic, 'start');
  const [end = 0] = await query.offsets(topic, 'end');
  const entries: StoredRow[] = [];
  for (let next = at; next < end; ) {
    const [fetched] = await query.fetch(topic, new Map([[0, next]]), { waitMs: 100 });
    for (const { key, value } of fetched?.records ?? [])
      if (key !== null) entries.push({ key: key.toString('utf8'), value: value?.toString('utf8') ?? null });
    next = fetched?.next ?? next;
  }
  return entries;
}

/** The same, on a connection of its own. */
export async function keyRecordsOf(options: KafkaConnectionOptions): Promise<readonly StoredRow[]> {
  const connection = connectTo(options);
  const query = openTopicReader(connection.kafka);
  try {
    return await readKeyRecords({ connection, query });
  } finally {
    await query.close();
  }
}
