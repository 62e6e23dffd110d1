import { existsSync } from 'node:fs';
import { mkdir, readFile } from 'node:fs/promises';
import { setTimeout } from 'node:timers/promises';
import type { SASLOptions } from 'kafkajs';
import type { Topic } from '../events/define-event.ts';
import { isLogError } from '../log/errors.ts';
import type { EventLog } from '../log/event-log.ts';
import type { KafkaConnectionOptions } from '../log/kafka/connection.ts';
import { openSqliteLog } from '../log/sqlite/open-sqlite-log.ts';
import { ConfigError } from './config.ts';
import type { DataFolder } from './data-folder.ts';
import type { LogConfig } from './log-config.ts';

export type RejectedRecord = {
  readonly topic: Topic;
  readonly partition: number;
  readonly offset: number;
  readonly error: string;
};

export type OpenLogOptions = {
  /** Fixed when the log is made; left out: whatever it was made with. */
  readonly partitions?: number;
  readonly sessionTimeoutMs?: number;
  readonly onRejected?: (rejected: RejectedRecord) => void;
  /** Brokers that do not answer are waited for if this is given, and it is told once what for. */
  readonly onWaiting?: (forWhat: string) => void;
  /** Ends the waiting: then it throws LogUnavailable. */
  readonly signal?: AbortSignal;
};

/** The log that the settings ask for. @throws LogUnavailable, LogMismatch, NewerSchema, ConfigError */
export async function openLog(
  config: LogConfig,
  data: DataFolder,
  { onWaiting, signal, ...options }: OpenLogOptions = {},
): Promise<EventLog> {
  if (config.log === 'sqlite') {
    await mkdir(data.log, { recursive: true });
    return openSqliteLog({ folder: data.log, ...options });
  }
  const connection = await kafkaConnection(config);
  // loaded here, so that who runs without Kafka does not wait for its client
  const { openKafkaLog } = await import('../log/kafka/open-kafka-log.ts');
  for (let told = false; ; told = true) {
    try {
      return await openKafkaLog({ ...connection, ...options });
    } catch (error) {
      if (onWaiting === undefined || signal?.aborted || !isLogError(error, 'LogUnavailable')) throw error;
      if (!told) onWaiting(`Kafka at ${config.kafkaBrokers.join(', ')}: ${error.message}`);
      // Aborted: one more try says why there is no log.
      await setTimeout(1_000, undefined, signal === undefined ? {} : { signal }).catch(() => undefined);
    }
  }
}

/** Whether there is something to read: a command that only looks makes no log of its own. */
export const logExists = (config: LogConfig, data: DataFolder): boolean =>
  config.log === 'kafka' || existsSync(data.log);

/** How to reach the cluster. @throws ConfigError where name or password is missing */
export async function kafkaConnection(config: LogConfig): Promise<KafkaConnectionOptions> {
  const { kafkaBrokers: brokers, kafkaPrefix: prefix, kafkaCaFile: caFile } = config;
  const ca = caFile === undefined ? undefined : [await readFile(caFile, 'utf8')];
  const sasl = saslOf(config);
  return {
    brokers,
    prefix,
    ...(config.kafkaSsl || ca !== undefined ? { ssl: ca === undefined ? true : { ca } } : {}),
    ...(sasl === undefined ? {} : { sasl }),
  };
}

function saslOf({
  kafkaSaslMechanism: mechanism,
  kafkaSaslUsername: username,
  kafkaSaslPassword: password,
}: LogConfig): SASLOptions | undefined {
  if (mechanism === undefined) return undefined;
  if (username === undefined || password === undefined) {
    throw new ConfigError(`kafkaSaslMechanism ${mechanism} needs kafkaSaslUsername and kafkaSaslPassword`);
  }
  return { mechanism, username, password };
}
