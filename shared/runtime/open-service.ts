import type { Registry } from 'prom-client';
import type { z } from 'zod';
import { type CommonConfig, ConfigError, helpText, loadConfig, printableConfig } from '../config/common.ts';
import { aborted, withDeadline } from '../lang/async.ts';
import type { EventLog } from '../log/event-log.ts';
import { traceLog } from '../tracing/trace-log.ts';
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
  /** where the log is, as text for logs and errors */
  readonly place: string;
  readonly metrics: Registry;
  /** Aborts on SIGTERM, SIGINT and SIGHUP, and when the supervisor is gone. */
  readonly shutdown: AbortSignal;
  /** The supervisor is gone; the next one waits for this process to end. */
  readonly isOrphan: () => boolean;
  /**
   * Runs until shutdown, or until one of the works or `failures` rejects. Then closes in reverse order and exits:
   * with 0, with 2 if a restart would not help (refusal.ts), otherwise with 1.
   */
  readonly run: (
    works: readonly Promise<unknown>[],
    close: readonly (() => Promise<unknown>)[],
    failures?: readonly Promise<never>[],
  ) => Promise<never>;
};

type Common = z.output<typeof CommonConfig>;

/** ms that a drain may take before the process is ended */
const DRAIN_LIMIT_MS = 9_000;
/** ms of these for the works, so that time remains to close if a broker hangs */
const WORKS_LIMIT_MS = 6_000;

/** Start of every service's `main.ts`: config, logger, log, signals. */
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
  const { shutdown, isOrphan } = watchForShutdown(logger);
  const codeOf = (error: unknown) => logExit(error, name, logger, 'healthPort' in config);
  process.on('uncaughtException', (error) => process.exit(codeOf(error)));
  // a service outlives a reader that closes its pipe; the supervisor decides when it ends
  process.stdout.on('error', () => {});
  const data = dataFolder(config.dataFolder);
  await refuseForeignFolder(data.root);
  const place = placeOfLog(config, data);
  const metrics = createMetrics(name);
  const rejected = createRejectedCounter(metrics);
  // before the works run there is nothing to drain
  const stoppedEarly = () => {
    logger.info({ code: 0 }, 'stopped');
    process.exit(0);
  };
  shutdown.signal.addEventListener('abort', stoppedEarly);
  if (shutdown.signal.aborted) stoppedEarly();
  const plainLog = await openLog(config, data, {
    partitions: config.partitions,
    sessionTimeoutMs: config.sessionTimeoutMs,
    onRejected: (record) => {
      rejected.inc({ topic: record.topic });
      logger.warn(record, 'skipping a record that cannot be parsed; see clawloop topics redrive');
    },
    onTrimmed: (trimmed) => logger.warn(trimmed, 'unread records were deleted; continuing after them'),
    onLost: (lost) => logger.error(lost, 'the last records of a partition are lost; continuing without them'),
    onWaiting: (where, reason, seconds) => logger.warn({ reason, seconds }, `waiting for ${where}`),
    signal: shutdown.signal,
  });
  const log = await withTraces(plainLog, config.otlpEndpoint, name, logger);
  const run: Service<unknown>['run'] = async (works, close, failures = []) => {
    shutdown.signal.removeEventListener('abort', stoppedEarly);
    const stopped = aborted(shutdown.signal);
    let code = 0;
    try {
      await Promise.race([stopped, Promise.all(works).then(() => stopped), ...failures]);
    } catch (error) {
      code = codeOf(error);
      shutdown.abort();
    }
    await withDeadline(Promise.allSettled(works), WORKS_LIMIT_MS, () => {});
    for (const closeNext of [...[...close].reverse(), log.close]) {
      await closeNext().catch((error: unknown) => {
        logger.error({ err: error }, 'could not close cleanly; exiting anyway');
        code = 1;
      });
    }
    logger.info({ code }, 'stopped');
    process.exit(code);
  };
  return {
    name,
    config,
    logger,
    log,
    data,
    place,
    metrics,
    run,
    shutdown: shutdown.signal,
    isOrphan,
  };
}

/** Without an endpoint, no code of OpenTelemetry is loaded. */
async function withTraces(
  log: EventLog,
  endpoint: string | undefined,
  name: string,
  logger: Logger,
): Promise<EventLog> {
  if (endpoint === undefined) return log;
  const { openOtlp } = await import('../tracing/otlp.ts');
  return traceLog(log, openOtlp(endpoint, name, logger), Date.now);
}

/** Stops on signals, and when the supervisor is gone; ends the process if the drain takes too long. */
function watchForShutdown(logger: Logger): {
  readonly shutdown: AbortController;
  readonly isOrphan: () => boolean;
} {
  const shutdown = new AbortController();
  shutdown.signal.addEventListener('abort', () => {
    setTimeout(() => {
      logger.error({ afterMs: DRAIN_LIMIT_MS }, 'not drained in time; ending anyway');
      process.exit(1);
    }, DRAIN_LIMIT_MS).unref();
  });
  const stop = (cause: string) => {
    if (!shutdown.signal.aborted) logger.info({ cause }, 'stopping');
    shutdown.abort();
  };
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => stop(signal));
  // Services end with their supervisor. If it died before this line, `connected` is false; without a supervisor
  // it is undefined.
  let isOrphan = false;
  const orphaned = () => {
    isOrphan = true;
    stop('the supervisor is gone');
  };
  if (process.connected === false) orphaned();
  else process.on('disconnect', orphaned);
  return { shutdown, isOrphan: () => isOrphan };
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

/** Logs why the service cannot continue; the exit code tells the supervisor whether to restart it. */
function logExit(error: unknown, name: string, logger: Logger, hasHealthPort: boolean): number {
  logger.fatal({ err: error }, 'cannot continue; exiting');
  if (!isRefusal(error)) return 1;
  const isPortError = (error as NodeJS.ErrnoException).syscall === 'listen';
  const advice = isPortError && hasHealthPort ? adviceOnPort(name) : '';
  process.stderr.write(`clawloop ${name}: ${error.message}${advice}\n`);
  return REFUSED_EXIT_CODE;
}

const adviceOnPort = (name: string): string =>
  `; give another --health-port (--${name}-health-port with clawloop up), or 0 for any free port`;
