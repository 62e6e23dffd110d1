import { mkdir } from 'node:fs/promises';
import type { Registry } from 'prom-client';
import type { z } from 'zod';
import type { EventLog } from '../log/event-log.ts';
import { openSqliteLog } from '../log/sqlite/open-sqlite-log.ts';
import { type CommonConfig, ConfigError, helpText, loadConfig, printableConfig } from './config.ts';
import { type DataFolder, dataFolder } from './data-folder.ts';
import { createLogger, type Logger } from './logger.ts';
import { createMetrics } from './metrics.ts';

export type Service<Values> = {
  readonly name: string;
  readonly config: Values;
  readonly logger: Logger;
  readonly log: EventLog;
  readonly data: DataFolder;
  readonly metrics: Registry;
  /** Aborts on SIGTERM and SIGINT. */
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
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.on(signal, () => {
      logger.info({ signal }, 'stopping');
      shutdown.abort();
      setTimeout(() => process.exit(1), DRAIN_LIMIT_MS).unref();
    });
  }
  // A supervisor that is gone cannot restart anything: its services end with it.
  if (process.connected) process.on('disconnect', () => shutdown.abort());
  // A service outlives a terminal and a parent that closed its pipe; whoever supervises decides when it ends.
  process.stdout.on('error', () => {});
  const data = dataFolder(config.dataFolder);
  await mkdir(data.log, { recursive: true });
  const log = await openSqliteLog({
    folder: data.log,
    partitions: config.partitions,
    sessionTimeoutMs: config.sessionTimeoutMs,
  });
  const run: Service<unknown>['run'] = async (works, close) => {
    const stopped = new Promise<void>((resolve) =>
      shutdown.signal.addEventListener('abort', () => resolve()),
    );
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
  return { name, config, logger, log, data, metrics: createMetrics(name), shutdown: shutdown.signal, run };
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
