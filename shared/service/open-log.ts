import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import type { SASLOptions } from 'kafkajs';
import { isLogError, logError } from '../log/errors.ts';
import type { EventLog } from '../log/event-log.ts';
import type { LostRecords, RejectedRecord, TrimmedRecords } from '../log/following.ts';
import type { KafkaConnectionOptions } from '../log/kafka/connection.ts';
import { pause } from '../log/pause.ts';
import { openSqliteLog } from '../log/sqlite/open-sqlite-log.ts';
import { ConfigError } from './config.ts';
import type { DataFolder } from './data-folder.ts';
import type { LogConfig } from './log-config.ts';
import { makeFolder } from './make-folder.ts';
import { Refusal } from './refusal.ts';
import { createWaitNotice } from './wait-notice.ts';

export type OpenLogOptions = {
  /** Fixed when the log is made; left out: whatever it was made with. */
  readonly partitions?: number;
  readonly sessionTimeoutMs?: number;
  /** Topics of Kafka may delete their records: for commands that only look. */
  readonly anyRetention?: boolean;
  readonly onRejected?: (rejected: RejectedRecord) => void;
  readonly onTrimmed?: (trimmed: TrimmedRecords) => void;
  readonly onLost?: (lost: LostRecords) => void;
  /**
   * Brokers that do not answer, and a file on a full disk, are waited for if this is given; it is told what
   * for, and again now and then with the s that it has taken so far.
   */
  readonly onWaiting?: (forWhat: string, reason: string, seconds: number) => void;
  /** Ends the waiting: then it throws LogUnavailable. */
  readonly signal?: AbortSignal;
};

/** ms between two tries to reach the brokers */
const RETRY_MS = 1_000;
/** A broker that starts may not know its users yet: so many refusals in a row count as meant. */
const REFUSALS = 3;

/** Where the log is, for a person to read. */
export const placeOfLog = (config: LogConfig, data: DataFolder): string =>
  config.log === 'kafka' ? `Kafka at ${config.kafkaBrokers.join(', ')}` : `the log in ${data.log}`;

/**
 * The log that the settings ask for.
 * @throws LogUnavailable, LogMismatch, LogRefused, NewerSchema, ConfigError, Refusal
 */
export async function openLog(
  config: LogConfig,
  data: DataFolder,
  { onWaiting, signal = new AbortController().signal, ...options }: OpenLogOptions = {},
): Promise<EventLog> {
  const { open, refusalOf } = config.log === 'sqlite' ? await onSqlite(data) : await onKafka(config);
  const place = placeOfLog(config, data);
  const notice = createWaitNotice({
    away: (reason, seconds) => onWaiting?.(place, reason, seconds),
    back: () => undefined,
  });
  for (let refusals = 0; ; ) {
    try {
      return await open(options);
    } catch (error) {
      if (!isLogError(error, 'LogUnavailable')) throw error;
      const refusal = refusalOf(error);
      refusals = refusal === undefined ? 0 : refusals + 1;
      if (refusal !== undefined && (onWaiting === undefined || refusals >= REFUSALS))
        throw logError('LogRefused', `${place} refuses us: ${refusal}`, error);
      if (onWaiting === undefined) throw error;
      notice.away(error.message);
      await pause(RETRY_MS, signal);
      if (signal.aborted) throw error;
    }
  }
}

type Opening = {
  readonly open: (options: Omit<OpenLogOptions, 'onWaiting' | 'signal'>) => Promise<EventLog>;
  /** What a log that is unavailable has against us; undefined: nothing, it may come. */
  readonly refusalOf: (error: Error) => string | undefined;
};

async function onSqlite(data: DataFolder): Promise<Opening> {
  await makeFolder(data.log);
  return {
    open: (options) => openSqliteLog({ folder: data.log, ...options }),
    refusalOf: () => undefined,
  };
}

async function onKafka(config: LogConfig): Promise<Opening> {
  const connection = await kafkaConnection(config);
  // loaded here, so that who runs without Kafka does not wait for its client
  const { openKafkaLog } = await import('../log/kafka/open-kafka-log.ts');
  const { brokerRefusal } = await import('../log/kafka/broker-refusal.ts');
  return { open: (options) => openKafkaLog({ ...connection, ...options }), refusalOf: brokerRefusal };
}

/** Whether there is something to read: a command that only looks makes no log of its own. */
export const logExists = (config: LogConfig, data: DataFolder): boolean =>
  config.log === 'kafka' || existsSync(data.log);

/** How to reach the cluster. @throws ConfigError where name or password is missing */
export async function kafkaConnection(config: LogConfig): Promise<KafkaConnectionOptions> {
  const { kafkaBrokers: brokers, kafkaPrefix: prefix, kafkaCaFile: caFile } = config;
  const ca = caFile === undefined ? undefined : [await readCertificates(caFile)];
  const sasl = saslOf(config);
  return {
    brokers,
    prefix,
    ...(config.kafkaSsl || ca !== undefined ? { ssl: ca === undefined ? true : { ca } } : {}),
    ...(sasl === undefined ? {} : { sasl }),
  };
}

/** @throws Refusal naming the file */
export const readCertificates = (path: string): Promise<string> =>
  readFile(path, 'utf8').catch((error: Error) => {
    throw new Refusal(`certificates cannot be read: ${error.message}`);
  });

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
