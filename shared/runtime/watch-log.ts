import { Gauge, type Registry } from 'prom-client';
import { monotonicNow, utcNow } from './clock.ts';
import type { Logger } from './logger.ts';
import { createWaitNotice } from './wait-notice.ts';

export const createLogWait = (registry: Registry) =>
  new Gauge({
    name: 'clawloop_log_wait_seconds',
    help: 'seconds since the log stopped answering; 0 while it answers',
    registers: [registry],
  });

type Options = {
  /** Queries the log. Rejects if the log does not answer. */
  readonly look: () => Promise<unknown>;
  /** where the log is, as text */
  readonly place: string;
  readonly wait: Pick<Gauge, 'set'>;
  readonly logger: Pick<Logger, 'info' | 'warn'>;
  readonly signal: AbortSignal;
  /** ms between two queries; default 2,000 */
  readonly lookMs?: number | undefined;
};

/** ms without an answer after which the log counts as away */
const HANGS_AFTER_MS = 5_000;

export type LogWatch = {
  /** Why the service is not ready: the log does not answer, or has not been queried yet. */
  readonly missing: () => string | undefined;
  /** RFC 3339; undefined while the log answers */
  readonly awaySince: () => string | undefined;
};

/** Queries the log again and again, and reports when it does not answer and when it does again. */
export function watchLog({ look, place, wait, logger, signal, lookMs = 2_000 }: Options): LogWatch {
  let looked = false;
  let since: string | undefined;
  const notice = createWaitNotice({
    away: (reason, seconds) => logger.warn({ reason, seconds }, `waiting for ${place}`),
    back: (seconds) => logger.info({ seconds }, `${place} is back`),
  });
  const away = (reason: string): void => {
    since ??= utcNow();
    notice.away(reason);
  };
  let began: number | undefined;
  const tick = async (): Promise<void> => {
    if (began === undefined) {
      began = monotonicNow();
      try {
        await look();
        looked = true;
        since = undefined;
        notice.back();
      } catch (error) {
        away((error as Error).message);
      }
      began = undefined;
    } else if (monotonicNow() - began > HANGS_AFTER_MS) {
      // one query at a time: a hanging log is not queried again
      away('no answer');
    }
    wait.set(notice.seconds() ?? 0);
  };
  const timer = setInterval(() => void tick(), lookMs);
  signal.addEventListener('abort', () => clearInterval(timer), { once: true });
  void tick();
  return {
    missing: () => {
      const seconds = notice.seconds();
      if (seconds !== undefined) return `${place} has not answered for ${seconds} s`;
      return looked ? undefined : 'the log has not been checked yet';
    },
    awaySince: () => since,
  };
}
