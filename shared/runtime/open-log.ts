import { statSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import type { SASLOptions } from 'kafkajs';
import { ConfigError } from '../config/common.ts';
import type { LogConfig } from '../config/log.ts';
import { pause } from '../lang/async.ts';
import { defined } from '../lang/defined.ts';
import { isLogError, logError } from '../log/errors.ts';
import type { EventLog } from '../log/event-log.ts';
import type { LostRecords, RejectedRecord, TrimmedRecords } from '../log/following.ts';
import type { KafkaConnectionOptions } from '../log/kafka/connection.ts';
import { sqliteFileIn } from '../log/sqlite/database.ts';
import { openSqliteLog } from '../log/sqlite/open-sqlite-log.ts';
import type { DataFolder } from './data-folder.ts';
import { makeFolder } from './make-folder.ts';
import { Refusal } from './refusal.ts';
import { createWaitNotice } from './wait-notice.ts';

export type OpenLogOptions = {
  /** Fixed when the log is created; undefined: as created. */
  readonly partitions?: number;
  readonly sessionTimeoutMs?: number;
  /** Accepts Kafka topics that delete records; for commands that only read. */
  readonly anyRetention?: boolean;
  readonly onRejected?: (rejected: RejectedRecord) => void;
  readonly onTrimmed?: (trimmed: TrimmedRecords) => void;
  readonly onLost?: (lost: LostRecords) => void;
  /** If given, openLog waits for unavailable brokers or a full disk, and calls this repeatedly. */
  readonly onWaiting?: (place: string, reason: string, seconds: number) => void;
  /** Ends the wait: openLog then throws LogUnavailable. */
  readonly signal?: AbortSignal;
};

/** ms between two tries to reach the brokers */
const RETRY_MS = 1_000;
/** refusals in a row that count as final: a starting broker may not know its users yet */
const REFUSALS = 3;

/** Where the log is, as text for logs and errors. */
export const placeOfLog = (config: LogConfig, data: DataFolder): string =>
  config.log === 'kafka' ? `Kafka at ${config.kafkaBrokers.join(', ')}` : `the log in ${data.log}`;

/**
 * Opens the configured log.
 * @throws LogUnavailable, LogMismatch, LogRefused, NewerSchema, ConfigError, Refusal
 */
export async function openLog(
  config: LogConfig,
  data: DataFolder,
  { onWaiting, signal, ...options }: OpenLogOptions = {},
): Promise<EventLog> {
  const { open, refusalOf } = config.log === 'sqlite' ? await onSqlite(data) : await onKafka(config);
  const place = placeOfLog(config, data);
  return untilOpen({ open: () => open(options), refusalOf, place }, { onWaiting, signal });
}

export type WaitOptions = {
  readonly onWaiting?: OpenLogOptions['onWaiting'] | undefined;
  readonly signal?: AbortSignal | undefined;
};

/**
 * Opens a log or a topic; with `onWaiting` it waits until that is possible.
 * @throws LogUnavailable, LogRefused, and whatever else `open` throws
 */
export async function untilOpen<Opened>(
  { open, refusalOf, place }: Opening<Opened>,
  { onWaiting, signal = new AbortController().signal }: WaitOptions,
): Promise<Opened> {
  const notice = createWaitNotice({
    away: (reason, seconds) => onWaiting?.(place, reason, seconds),
    back: () => undefined,
  });
  for (let refusals = 0; ; ) {
    try {
      return await open();
    } catch (error) {
      if (!isLogError(error, 'LogUnavailable')) throw error;
      const refusal = refusalOf(error);
      refusals = refusal === undefined ? 0 : refusals + 1;
      if (refusal !== undefined && (onWaiting === undefined || refusals >= REFUSALS))
        throw logError('LogRefused', `${place} refused the connection: ${refusal}`, error);
      if (onWaiting === undefined) throw error;
      notice.away(error.message);
      await pause(RETRY_MS, signal);
      if (signal.aborted) throw error;
    }
  }
}

type Opening<Opened> = {
  readonly open: () => Promise<Opened>;
  /** Why an unavailable log refuses the connection; undefined: it may become available. */
  readonly refusalOf: (error: Error) => string | undefined;
  readonly place: string;
};

type LogOpening = Pick<Opening<EventLog>, 'refusalOf'> & {
  readonly open: (options: Omit<OpenLogOptions, 'onWaiting' | 'signal'>) => Promise<EventLog>;
};

async function onSqlite(data: DataFolder): Promise<LogOpening> {
  await makeFolder(data.log);
  return {
    open: (options) => openSqliteLog({ folder: data.log, ...options }),
    refusalOf: () => undefined,
  };
}

async function onKafka(config: LogConfig): Promise<LogOpening> {
  const connection = await kafkaConnection(config);
  // imported here, so that setups without Kafka do not load its client
  const { openKafkaLog } = await import('../log/kafka/open-kafka-log.ts');
  const { brokerRefusal } = await import('../log/kafka/broker-refusal.ts');
  return { open: (options) => openKafkaLog({ ...connection, ...options }), refusalOf: brokerRefusal };
}

/** Whether there is a log; commands do not create one, not even where its file was lost or cut to nothing. */
export const logExists = (config: LogConfig, data: DataFolder): boolean =>
  config.log === 'kafka' || (statSync(sqliteFileIn(data.log), { throwIfNoEntry: false })?.size ?? 0) > 0;

/** Connection options of the cluster. @throws ConfigError when user name or password is missing */
export async function kafkaConnection(config: LogConfig): Promise<KafkaConnectionOptions> {
  const { kafkaBrokers: brokers, kafkaPrefix: prefix, kafkaCaFile: caFile } = config;
  const ca = caFile === undefined ? undefined : [await readCertificates(caFile)];
  const sasl = saslOf(config);
  return {
    brokers,
    prefix,
    ...defined({
      ssl: config.kafkaSsl || ca !== undefined ? (ca === undefined ? true : { ca }) : undefined,
      sasl,
    }),
  };
}

/** @throws Refusal naming the file */
export const readCertificates = (path: string): Promise<string> =>
  readFile(path, 'utf8').catch((error: Error) => {
    throw new Refusal(`cannot read certificates: ${error.message}`);
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
