import { type DestinationStream, type Logger, type LoggerOptions, pino } from 'pino';

export type { Logger };

/** JSON lines: one per event that matters, ids on every line. On standard output unless told. */
export function createLogger(service: string, level: string, destination?: DestinationStream): Logger {
  const options: LoggerOptions = {
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
        // of an error of ioredis: the words of a login stand in it
        'err.command',
      ],
      censor: '***',
    },
  };
  return pino(options, destination);
}
