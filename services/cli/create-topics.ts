import { CommonConfig, loadConfig } from '../../shared/config/common.ts';
import { LogConfig } from '../../shared/config/log.ts';
import type { Topic } from '../../shared/events/define-event.ts';
import { connectTo } from '../../shared/log/kafka/connection.ts';
import {
  createTopics,
  maxRecordBytes,
  planKeysTopic,
  planRowsTopic,
  planTopics,
} from '../../shared/log/kafka/create-topics.ts';
import { kafkaConnection } from '../../shared/runtime/open-log.ts';
import { formatTable } from '../../shared/runtime/table.ts';

const CreateConfig = CommonConfig.pick({ partitions: true }).extend(LogConfig.shape);

/** Every consumer group of the services. Each keeps its rows in its own topic. */
export const groups: readonly { readonly group: string; readonly reads: Topic }[] = [
  { group: 'attribute', reads: 'conversations' },
  { group: 'assemble', reads: 'turns' },
  { group: 'judge', reads: 'turns' },
  { group: 'submit', reads: 'training' },
  { group: 'trainer', reads: 'training' },
];

/**
 * `topics create`: creates the missing topics of a Kafka log, including those for the groups' rows, with all
 * their settings. After that, services need no right to create topics. It takes the services' own flags.
 * @throws ConfigError, LogUnavailable
 */
export async function createTopicsOfLog(argv: readonly string[]): Promise<number> {
  const { partitions, ...config } = loadConfig('cli', CreateConfig, argv).values;
  const connection = connectTo(await kafkaConnection(config));
  const plans = [
    ...planTopics(connection, partitions, maxRecordBytes),
    planKeysTopic(connection),
    ...groups.map(({ group }) => planRowsTopic(connection, group, partitions, maxRecordBytes)),
  ];
  const created = new Set(await createTopics(connection, plans));
  const rows = plans.map(({ topic, partitions: count, settings }) => {
    const listed = Object.entries(settings).map(([name, value]) => `${name}=${value}`);
    return [topic, created.has(topic) ? 'created' : 'exists', count, listed.join(' ')];
  });
  console.log(formatTable(['topic', '', 'partitions', 'settings'], rows));
  return 0;
}
