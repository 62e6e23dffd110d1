import type { Registry } from 'prom-client';
import type { z } from 'zod';
import type { EventLog } from '../log/event-log.ts';
import { type CommonConfig, ConfigError, helpText, loadConfig, printableConfig } from './config.ts';
import { type DataFolder, dataFolder } from './data-folder.ts';
import { createLogger, type Logger } from './logger.ts';
import { createMetrics, createRejectedCounter } from './metrics.ts';
import { openLog, placeOfLog } from './open-log.ts';
import { keepFilesPrivate, refuseForeignFolder } from './private-folder.ts';
import { isRefusal, REFUSED_EXIT_CODE } from './refusal.ts';
import { guardTerminal } from './terminal.ts';

export type Service<Values> = {
  readonly name: string;
  readonly config: Values;
  readonly logger: Logger;
  readonly log: EventLog;
  readonly data: DataFolder;
  /** where the log is, for a person to read */
  readonly place: string;
  readonly metrics: Registry;
  /** Aborts on SIGTERM, SIGINT and SIGHUP, and when the supervisor is gone. */
  readonly shutdown: AbortSignal;
  /** Its supervisor is gone: whoever starts the next one waits for its end. */
  readonly isOrphan: () => boolean;
  /**
   * Runs until shutdown or until one of the works or `failures` rejects; then closes, in reverse order, and
   * exits: with 0, with 2 where starting again would change nothing (refusal.ts), else with 1.
   */
  readonly run: (
    works: readonly Promise<unknown>[],
    close: readonly (() => Promise<unknown>)[],
    failures?: readonly Promise<never>[],
  ) => Promise<never>;
};

type Common = z.output<typeof CommonConfig>;

/** ms that a drain may take before the process ends all the same. */
const DRAIN_LIMIT_MS = 9_500;
/** ms of these for the works: a broker that hangs leaves them time to close. */
const WORKS_LIMIT_MS = 6_000;

/** What every service's `main.ts` begins with: config, logger, log, signals. */
export async function openService<Shape extends z.ZodRawShape>(
  name: string,
  schema: z.ZodObject<Shape>,
): Promise<Service<z.output<z.ZodObject<Shape>> & Common>> {
  keepFilesPrivate();
  guardTerminal(process.stderr);
  if (process.argv.some((word) => word === '--help' || word === '-h')) {
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
  // A supervisor that is gone cannot restart anything: its services end with it. It may have died before this
  // line: then there was a channel and is none, where without a supervisor `connected` is undefined.
  let isOrphan = false;
  const orphaned = () => {
    isOrphan = true;
    stop('the supervisor is gone');
  };
  if (process.connected === false) orphaned();
  else process.on('disconnect', orphaned);
  /** Says why the service cannot go on; the code tells a supervisor whether to start it again. */
  const codeOf = (error: unknown): number => {
    logger.fatal({ err: error }, 'cannot go on');
    if (!isRefusal(error)) return 1;
    const listens = (error as NodeJS.ErrnoException).syscall === 'listen';
    const advice = listens && 'healthPort' in config ? adviceOnPort(name) : '';
    process.stderr.write(`clawloop ${name}: ${error.message}${advice}\n`);
    return REFUSED_EXIT_CODE;
  };
  process.on('uncaughtException', (error) => process.exit(codeOf(error)));
  // A service outlives a terminal and a parent that closed its pipe; whoever supervises decides when it ends.
  process.stdout.on('error', () => {});
  const data = dataFolder(config.dataFolder);
  await refuseForeignFolder(data.root);
  const place = placeOfLog(config, data);
  const metrics = createMetrics(name);
  const rejected = createRejectedCounter(metrics);
  // Until the works run nothing is in hand: whatever is waited for ends with the service.
  const stoppedEarly = () => {
    logger.info({ code: 0 }, 'stopped');
    process.exit(0);
  };
  shutdown.signal.addEventListener('abort', stoppedEarly);
  if (shutdown.signal.aborted) stoppedEarly();
  const log = await openLog(config, data, {
    partitions: config.partitions,
    sessionTimeoutMs: config.sessionTimeoutMs,
    onRejected: (record) => {
      rejected.inc({ topic: record.topic });
      logger.warn(record, 'a record cannot be parsed');
    },
    onTrimmed: (trimmed) => logger.warn(trimmed, 'records are gone that were not read; goes on behind them'),
    onLost: (lost) => logger.error(lost, 'the last records of a partition are lost; goes on without them'),
    onWaiting: (where, reason, seconds) => logger.warn({ reason, seconds }, `waiting for ${where}`),
    signal: shutdown.signal,
  });
  const run: Service<unknown>['run'] = async (works, close, failures = []) => {
    shutdown.signal.removeEventListener('abort', stoppedEarly);
    const stopped = new Promise<void>((resolve) => {
      if (shutdown.signal.aborted) resolve();
      else shutdown.signal.addEventListener('abort', () => resolve());
    });
    let code = 0;
    try {
      await Promise.race([stopped, Promise.all(works).then(() => stopped), ...failures]);
    } catch (error) {
      code = codeOf(error);
      shutdown.abort();
    }
    await Promise.race([Promise.allSettled(works), elapsed(WORKS_LIMIT_MS)]);
    for (const one of [...[...close].reverse(), log.close]) {
      await one().catch((error: unknown) => {
        logger.error({ err: error }, 'does not close');
        code = 1;
      });
    }
    logger.info({ code }, 'stopped');
    process.exit(code);
  };
  return {
    ...{ name, config, logger, log, data, place, metrics, run },
    ...{ shutdown: shutdown.signal, isOrphan: () => isOrphan },
  };
}

function readConfig<Shape extends z.ZodRawShape>(name: string, schema: z.ZodObject<Shape>) {
  try {
    return loadConfig(name, schema);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    process.stderr.write(`clawloop ${name}: ${error.message}; see clawloop ${name} --help\n`);
    process.exit(REFUSED_EXIT_CODE);
  }
}

const adviceOnPort = (name: string): string =>
  `; give another --health-port (--${name}-health-port under clawloop up), 0 for any free one`;

const elapsed = (ms: number): Promise<void> =>
  new Promise((resolve) => {
    setTimeout(resolve, ms).unref();
  });
