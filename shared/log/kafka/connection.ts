import type { Kafka as KafkaClient, SASLOptions } from 'kafkajs';
import type { Topic } from '../../events/define-event.ts';
import { Kafka, logLevel } from './kafkajs.ts';
import { prepareKafkaJs } from './kafkajs-internals.ts';

export type KafkaConnectionOptions = {
  /** `host:port` of one or more brokers of the cluster. */
  readonly brokers: readonly string[];
  /** Before every topic, group and transactional id of ours; `clawloop.` unless told. */
  readonly prefix?: string;
  readonly ssl?: boolean | Readonly<Record<string, unknown>>;
  readonly sasl?: SASLOptions;
};

/** How to reach a cluster, and what our things are called there. */
export type KafkaConnection = {
  readonly kafka: KafkaClient;
  readonly topicName: (topic: Topic) => string;
  readonly metaTopic: string;
  readonly groupId: (group: string) => string;
  /** The compacted topic that holds a group's rows. */
  readonly rowsTopic: (group: string) => string;
  /** One per partition of a group's input: whoever holds it alone can commit for the partition. */
  readonly transactionalId: (group: string, topic: Topic, partition: number) => string;
};

let prepared = false;

export function connectTo({
  brokers,
  prefix = 'clawloop.',
  ssl,
  sasl,
}: KafkaConnectionOptions): KafkaConnection {
  if (!prepared) prepareKafkaJs();
  prepared = true;
  const kafka = new Kafka({
    clientId: `${prefix}${process.pid}`,
    brokers: [...brokers],
    ...(ssl === undefined ? {} : { ssl }),
    ...(sasl === undefined ? {} : { sasl }),
    logLevel: logLevel.NOTHING,
    // The first wait is what every transaction costs: its first send comes while the one before is still
    // being closed, and has to be sent again.
    retry: { initialRetryTime: 5, maxRetryTime: 500, retries: 8 },
  });
  return {
    kafka,
    topicName: (topic) => `${prefix}${topic}`,
    metaTopic: `${prefix}meta`,
    groupId: (group) => `${prefix}${group}`,
    rowsTopic: (group) => `${prefix}${group}-rows`,
    transactionalId: (group, topic, partition) => `tx-${prefix}${group}-${prefix}${topic}-${partition}`,
  };
}
