import type { CliConfig } from '../../../shared/config/cli.ts';
import { logError } from '../../../shared/log/errors.ts';
import type { KafkaConnectionOptions } from '../../../shared/log/kafka/connection.ts';
import type { DataFolder } from '../../../shared/runtime/data-folder.ts';
import { kafkaConnection, placeOfLog } from '../../../shared/runtime/open-log.ts';
import { Refusal } from '../../../shared/runtime/refusal.ts';
import type { LogSource } from './log-source.ts';
import type { Manifest } from './manifest.ts';
import type { LogTarget } from './read-point.ts';
import { SQLITE_LOG, sqliteSource } from './sqlite-source.ts';

// Kafka's parts are imported when they are used, so that setups without Kafka do not load its client.

/** Runs `use` with the configured log, and closes it. */
export async function withSource<Result>(
  settings: CliConfig,
  data: DataFolder,
  use: (log: LogSource) => Promise<Result>,
): Promise<Result> {
  const log =
    settings.log === 'sqlite'
      ? sqliteSource(data)
      : await onKafka(settings, data, async (connection) =>
          (await import('./kafka-source.ts')).kafkaSource(connection),
        );
  try {
    return await use(log);
  } finally {
    await log.close();
  }
}

/**
 * Runs `use` with the place of the restored log; undefined: it is in the data folder.
 * @throws Refusal when the point has the other kind of log
 */
export async function withTarget<Result>(
  { settings, data }: { readonly settings: CliConfig; readonly data: DataFolder },
  manifest: Manifest,
  use: (target: LogTarget | undefined) => Promise<Result>,
): Promise<Result> {
  const kind = manifest.files.some(({ path }) => path === SQLITE_LOG) ? 'sqlite' : 'kafka';
  if (kind !== settings.log)
    throw new Refusal(
      `the log of ${manifest.point} was backed up with --log ${kind}: restore it with --log ${kind}`,
    );
  if (kind === 'sqlite') return use(undefined);
  const target = await onKafka(settings, data, async (connection) =>
    (await import('./kafka-target.ts')).kafkaTarget(connection, manifest),
  );
  try {
    return await use(target);
  } finally {
    await target.close();
  }
}

/** Runs `open` with the brokers. @throws LogRefused when they refuse this user or this certificate */
export async function onKafka<Opened>(
  settings: CliConfig,
  data: DataFolder,
  open: (connection: KafkaConnectionOptions) => Promise<Opened>,
): Promise<Opened> {
  try {
    return await open(await kafkaConnection(settings));
  } catch (error) {
    const { brokerRefusal } = await import('../../../shared/log/kafka/broker-refusal.ts');
    const refusal = brokerRefusal(error);
    if (refusal === undefined) throw error;
    throw logError('LogRefused', `${placeOfLog(settings, data)} refused: ${refusal}`, error);
  }
}
