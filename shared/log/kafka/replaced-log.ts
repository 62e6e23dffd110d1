import { openAppendQueue } from './append-queue.ts';
import { connectTo, type KafkaConnection, type KafkaConnectionOptions } from './connection.ts';
import { groupNames } from './group-names.ts';
import { type Meta, noteReplacement, type Replacement, readMeta } from './meta.ts';
import { openTopicReader } from './topic-reader.ts';
import { deleteTopics, existing, topicsOf, withAdmin } from './topics-of-log.ts';

/** ms for one send, through an outage of the brokers */
const SEND_MS = 60_000;

/** What the meta topic of a prefix says; `empty` also without the topic. @throws LogUnavailable */
export async function metaOf(options: KafkaConnectionOptions): Promise<Meta> {
  const connection = connectTo(options);
  if ((await existing(connection, [connection.metaTopic])).length === 0) return { kind: 'empty' };
  const query = openTopicReader(connection.kafka);
  try {
    return await readMeta({ connection, query });
  } finally {
    await query.close();
  }
}

/** Processes that fold the log now, as `GROUP: CLIENT at HOST`. Readers without a group are not among them. */
export async function activeMembers(options: KafkaConnectionOptions): Promise<readonly string[]> {
  const connection = connectTo(options);
  const ids = (await groupNames({ connection })).map(connection.groupId);
  if (ids.length === 0) return [];
  const { groups } = await withAdmin(connection, 'describing groups', (admin) => admin.describeGroups(ids));
  return groups.flatMap(({ groupId, members }) =>
    members.map(({ clientId, clientHost }) => `${groupId}: ${clientId} at ${clientHost.replace(/^\//, '')}`),
  );
}

/** Names of the topics that another prefix replaces; the meta topic stays and says so. */
export async function replacedTopics(options: KafkaConnectionOptions): Promise<readonly string[]> {
  const connection = connectTo(options);
  const keys = await existing(connection, [connection.keysTopic]);
  return [...(await topicsOf(connection)).filter((name) => name !== connection.metaTopic), ...keys];
}

/** Those of the replaced topics that are still there. */
export const leftOf = (options: KafkaConnectionOptions, { topics }: Pick<Replacement, 'topics'>) =>
  existing(connectTo(options), topics);

/** Says in the meta topic which prefix has the log, so that no service opens the old topics. */
export async function noteReplaced(
  options: KafkaConnectionOptions,
  note: Parameters<typeof noteReplacement>[1],
): Promise<void> {
  await withQueue(connectTo(options), (store) => noteReplacement(store, note, SEND_MS));
}

/** Deletes topics of a log that another prefix replaces, as the meta topic then says. May be called again. */
export async function deleteReplaced(
  options: KafkaConnectionOptions,
  { logId, replacedBy }: Parameters<typeof noteReplacement>[1],
): Promise<void> {
  const connection = connectTo(options);
  await noteReplaced(options, { logId, replacedBy: { ...replacedBy, isDeleted: true } });
  await deleteTopics(connection, replacedBy.topics);
}

async function withQueue(
  connection: KafkaConnection,
  use: (store: Parameters<typeof noteReplacement>[0]) => Promise<void>,
): Promise<void> {
  const [query, queue] = [openTopicReader(connection.kafka), openAppendQueue(connection.kafka)];
  try {
    await use({ connection, query, queue });
  } finally {
    await Promise.all([query.close(), queue.close()]);
  }
}
