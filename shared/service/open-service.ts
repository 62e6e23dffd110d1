import { Counter, type Registry } from 'prom-client';
import type { z } from 'zod';
import type { EventLog } from '../log/event-log.ts';
import { type CommonConfig, ConfigError, helpText, loadConfig, printableConfig } from './config.ts';
import { type DataFolder, dataFolder } from './data-folder.ts';
import { createLogger, type Logger } from './logger.ts';
import { createMetrics } from './metrics.ts';
import { openLog } from './open-log.ts';

export type Service<Values> = {
  readonly name: string;
  readonly config: Values;
  readonly logger: Logger;
  readonly log: EventLog;
  readonly data: DataFolder;
  readonly metrics: Registry;
  /** Aborts on SIGTERM, SIGINT and SIGHUP, and when the supervisor is gone. */
  readonly shutdown: AbortSignal;
  /** Runs until shutdown or until one of the works fails; then closes, in reverse order, and exits. */
  readonly run: (
    works: readonly Promise<unknown>[],
    close: readonly (() => Promise<unknown>)[],
  ) => Promise<never>;
};

type Common = z.output<typeof CommonConfig>;

/** ms that a drain may take before the process ends all the same. */
const DRAIN_LIMIT_MS = 10_000;

/**
 * Codes and names of errors that only other settings can mend: a taken port, another log. Starting again
 * would not help.
 */
const refusals: ReadonlySet<string> = new Set(['EADDRINUSE', 'EADDRNOTAVAIL', 'LogMismatch', 'NewerSchema']);

/** What every service's `main.ts` begins with: config, logger, log, signals. */
export async function openService<Shape extends z.ZodRawShape>(
  name: string,
  schema: z.ZodObject<Shape>,
): Promise<Service<z.output<z.ZodObject<Shape>> & Common>> {
  if (process.argv.includes('--help')) {
    process.stdout.write(helpText(name, schema as unknown as z.ZodObject));
    process.exit(0);
  }
  const loaded = readConfig(name, schema);
  const config = loaded.values as z.output<z.ZodObject<Shape>> & Common;
  const logger = createLogger(name, config.logLevel);
  logger.info({ config: printableConfig(loaded), node: process.version }, 'starting');
  const shutdown = new AbortController();
  shutdown.signal.addEventListener('abort', () => {
    setTimeout(() => {
      logger.error({ afterMs: DRAIN_LIMIT_MS }, 'not drained in time; ends all the same');
      process.exit(1);
    }, DRAIN_LIMIT_MS).unref();
  });
  const stop = (cause: string) => {
    if (!shutdown.signal.aborted) logger.info({ cause }, 'stopping');
    shutdown.abort();
  };
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => stop(signal));
  // A supervisor that is gone cannot restart anything: its services end with it.
  if (process.connected) process.on('disconnect', () => stop('the supervisor is gone'));
  process.on('uncaughtException', (error: NodeJS.ErrnoException) => {
    logger.fatal({ err: error }, 'cannot go on');
    if (refusals.has(error.code ?? error.name)) {
      process.stderr.write(`clawloop ${name}: ${error.message}\n`);
      process.exit(2);
    }
    process.exit(1);
  });
  // A service outlives a terminal and a parent that closed its pipe; whoever supervises decides when it ends.
  process.stdout.on('error', () => {});
  const data = dataFolder(config.dataFolder);
  const metrics = createMetrics(name);
  const rejected = new Counter({
    name: 'clawloop_records_rejected_total',
    help: 'records of the log that this service met and could not parse',
    labelNames: ['topic'],
    registers: [metrics],
  });
  const log = await openLog(config, data, {
    partitions: config.partitions,
    sessionTimeoutMs: config.sessionTimeoutMs,
    onRejected: (record) => {
      rejected.inc({ topic: record.topic });
      logger.warn(record, 'a record cannot be parsed');
    },
    onWaiting: (forWhat) => logger.warn({ for: forWhat }, 'waiting for the log'),
    signal: shutdown.signal,
  }).catch((error: unknown) => {
    if (!shutdown.signal.aborted) throw error;
    logger.info({ code: 0 }, 'stopped');
    process.exit(0);
  });
  const run: Service<unknown>['run'] = async (works, close) => {
    const stopped = new Promise<void>((resolve) => {
      if (shutdown.signal.aborted) resolve();
      else shutdown.signal.addEventListener('abort', () => resolve());
    });
    let code = 0;
    try {
      await Promise.race([stopped, Promise.all(works).then(() => stopped)]);
    } catch (error) {
      logger.fatal({ err: error }, 'cannot go on');
      code = 1;
      shutdown.abort();
    }
    await Promise.allSettled(works);
    for (const one of [...close].reverse()) await one();
    await log.close();
    logger.info({ code }, 'stopped');
    process.exit(code);
  };
  return { name, config, logger, log, data, metrics, shutdown: shutdown.signal, run };
}

function readConfig<Shape extends z.ZodRawShape>(name: string, schema: z.ZodObject<Shape>) {
  try {
    return loadConfig(name, schema);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    process.stderr.write(`clawloop ${name}: ${error.message}\n`);
    process.exit(2);
  }
}
