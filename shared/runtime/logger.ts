import { type DestinationStream, type Logger, type LoggerOptions, pino } from 'pino';
import { visible } from './terminal.ts';

export type { Logger };

/** A logger that writes JSON lines, by default to standard output. */
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
        // an ioredis error contains the login command
        'err.command',
      ],
      censor: '***',
    },
  };
  return pino(options, destination ?? standardOutput());
}

/**
 * Standard output that goes silent when its reader is gone. pino handles EPIPE; but a reader that leaves data
 * unread causes ECONNRESET, and pino would then retry the write forever at the end of the process.
 */
function standardOutput(): DestinationStream {
  const output = pino.destination({ fd: 1, sync: true });
  const silence = () => {};
  output.on('error', () => Object.assign(output, { write: silence, flushSync: silence, end: silence }));
  // JSON does not escape all terminal control characters
  return { write: (line) => output.write(visible(line)) };
}
