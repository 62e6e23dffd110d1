import type { Topic } from '../../shared/events/define-event.ts';
import { connectTo } from '../../shared/log/kafka/connection.ts';
import {
  createTopics,
  maxRecordBytes,
  planRowsTopic,
  planTopics,
} from '../../shared/log/kafka/create-topics.ts';
import { CommonConfig, loadConfig } from '../../shared/service/config.ts';
import { LogConfig } from '../../shared/service/log-config.ts';
import { kafkaConnection } from '../../shared/service/open-log.ts';
import { formatTable } from './table.ts';

const CreateConfig = CommonConfig.pick({ partitions: true }).extend(LogConfig.shape);

/** Every group of the services, each of which keeps its rows in a topic of its own. */
export const groups: readonly { readonly group: string; readonly reads: Topic }[] = [
  { group: 'attribute', reads: 'conversations' },
  { group: 'assemble', reads: 'turns' },
  { group: 'judge', reads: 'turns' },
  { group: 'submit', reads: 'training' },
  { group: 'trainer', reads: 'training' },
];

/**
 * `topics create`: the topics of a Kafka log and of the groups' rows, with all of their settings, where they
 * are missing: with them a service needs no right to create any. Flags as the services take them. @throws
 * ConfigError, LogUnavailable
 */
export async function createTopicsOfLog(argv: readonly string[]): Promise<number> {
  const { partitions, ...config } = loadConfig('cli', CreateConfig, argv).values;
  const connection = connectTo(await kafkaConnection(config));
  const plans = [
    ...planTopics(connection, partitions, maxRecordBytes),
    ...groups.map(({ group }) => planRowsTopic(connection, group, partitions, maxRecordBytes)),
  ];
  const created = new Set(await createTopics(connection, plans));
  const rows = plans.map(({ topic, partitions: count, settings }) => {
    const listed = Object.entries(settings).map(([name, value]) => `${name}=${value}`);
    return [topic, created.has(topic) ? 'created' : 'was there', count, listed.join(' ')];
  });
  console.log(formatTable(['topic', '', 'partitions', 'settings'], rows));
  return 0;
}
