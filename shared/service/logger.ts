import { type DestinationStream, type Logger, type LoggerOptions, pino } from 'pino';
import { visible } from './terminal.ts';

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
  return pino(options, destination ?? standardOutput());
}

/**
 * Standard output, for as long as somebody reads it. pino expects a reader that goes away to be told as EPIPE;
 * one that left something unread is told as ECONNRESET, and what is written after that would be tried again at
 * the end of the process, for ever.
 */
function standardOutput(): DestinationStream {
  const output = pino.destination({ fd: 1, sync: true });
  const silence = () => {};
  output.on('error', () => Object.assign(output, { write: silence, flushSync: silence, end: silence }));
  // JSON leaves some characters that drive a terminal as they are
  return { write: (line) => output.write(visible(line)) };
}
