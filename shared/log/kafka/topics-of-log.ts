import type { Admin } from 'kafkajs';
import { topics } from '../../events/define-event.ts';
import { retry } from '../../lang/async.ts';
import { logError } from '../errors.ts';
import type { KafkaConnection } from './connection.ts';
import { groupNames } from './group-names.ts';
import { talking } from './kafka-errors.ts';

/** ms for one request that changes topics */
const CHANGE_MS = 60_000;

export function withAdmin<Result>(
  { kafka }: Pick<KafkaConnection, 'kafka'>,
  what: string,
  use: (admin: Admin) => Promise<Result>,
): Promise<Result> {
  return talking(what, async () => {
    const admin = kafka.admin();
    try {
      await admin.connect();
      return await use(admin);
    } finally {
      await admin.disconnect().catch(() => undefined);
    }
  });
}

const presentTopics = (connection: KafkaConnection): Promise<readonly string[]> =>
  withAdmin(connection, 'listing topics', (admin) => admin.listTopics());

/** Names of the log's topics on the cluster, as far as they exist; without the access keys. */
export async function topicsOf(connection: KafkaConnection): Promise<readonly string[]> {
  const groups = await groupNames({ connection });
  const mine = new Set([
    ...topics.map(connection.topicName),
    connection.metaTopic,
    ...groups.map(connection.rowsTopic),
  ]);
  return (await presentTopics(connection)).filter((name) => mine.has(name));
}

/** Those of the names that are topics. */
export async function existing(
  connection: KafkaConnection,
  names: readonly string[],
): Promise<readonly string[]> {
  const present = new Set(await presentTopics(connection));
  return names.filter((name) => present.has(name));
}

/** Deletes topics, and waits until no broker lists them. @throws LogUnavailable */
export async function deleteTopics(connection: KafkaConnection, names: readonly string[]): Promise<void> {
  const present = await existing(connection, names);
  if (present.length === 0) return;
  await withAdmin(connection, 'deleting topics', (admin) =>
    admin.deleteTopics({ topics: [...present], timeout: CHANGE_MS }),
  );
  // A broker may list a deleted topic for some milliseconds more.
  const gone = async () => {
    const left = await existing(connection, names);
    if (left.length > 0)
      throw logError('LogUnavailable', `${left.join(', ')} should be deleted and is still there: try again`);
  };
  await retry(gone, { waits: Array.from({ length: 40 }, () => 250) });
}
