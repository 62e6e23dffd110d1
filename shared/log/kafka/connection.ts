import type { Kafka as KafkaClient, SASLOptions } from 'kafkajs';
import type { Topic } from '../../events/define-event.ts';
import { defined } from '../../lang/defined.ts';
import { Kafka, logLevel } from './kafkajs.ts';
import { prepareKafkaJs } from './kafkajs-internals.ts';

export type KafkaConnectionOptions = {
  /** `host:port` of one or more brokers of the cluster. */
  readonly brokers: readonly string[];
  /** Prefix of every topic, group and transactional id; default `clawloop.` */
  readonly prefix?: string;
  readonly ssl?: boolean | Readonly<Record<string, unknown>>;
  readonly sasl?: SASLOptions;
};

/** A client of a cluster, and the names of the log's topics and groups on it. */
export type KafkaConnection = {
  readonly kafka: KafkaClient;
  readonly topicName: (topic: Topic) => string;
  readonly metaTopic: string;
  /** The compacted topic that holds the access keys. */
  readonly keysTopic: string;
  readonly groupId: (group: string) => string;
  /** The compacted topic that holds a group's rows. */
  readonly rowsTopic: (group: string) => string;
  /** One per partition of a group's input: only the owner of the id can commit for the partition. */
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
    ...defined({ ssl, sasl }),
    logLevel: logLevel.NOTHING,
    // A broker whose host is gone closes no connection: the requests that wait for it end only by this limit, in ms.
    requestTimeout: 10_000,
    // Every transaction pays the first wait: the broker is still closing the previous transaction when the first
    // send arrives, so it must be repeated.
    retry: { initialRetryTime: 5, maxRetryTime: 500, retries: 8 },
  });
  return {
    kafka,
    topicName: (topic) => `${prefix}${topic}`,
    metaTopic: `${prefix}meta`,
    keysTopic: `${prefix}keys`,
    groupId: (group) => `${prefix}${group}`,
    rowsTopic: (group) => `${prefix}${group}-rows`,
    transactionalId: (group, topic, partition) => `tx-${prefix}${group}-${prefix}${topic}-${partition}`,
  };
}
