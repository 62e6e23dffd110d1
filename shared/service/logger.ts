import { type Logger, pino } from 'pino';

export type { Logger };

/** JSON lines on standard output: one per event that matters, ids on every line. */
export function createLogger(service: string, level: string): Logger {
  return pino({
    level,
    base: { service, pid: process.pid },
    timestamp: pino.stdTimeFunctions.isoTime,
    redact: {
      paths: [
        'authorization',
        '*.authorization',
        'apiKey',
        '*.apiKey',
        'headers.authorization',
        'headers["x-api-key"]',
      ],
      censor: '***',
    },
  });
}
