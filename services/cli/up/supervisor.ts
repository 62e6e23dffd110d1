import { type ChildProcess, spawn } from 'node:child_process';
import { createWriteStream, type WriteStream } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { monotonicNow } from '../../../shared/service/clock.ts';
import { type ServiceName, serviceEntry } from '../service-entry.ts';
import { restartDelay } from './restart-delay.ts';

/** ms that a service may take to drain before it is killed. */
const DRAIN_LIMIT_MS = 12_000;
/** Exit code of a service that was given settings it cannot use: starting it again would change nothing. */
const USAGE_EXIT_CODE = 2;

export type Supervised = {
  readonly name: ServiceName;
  readonly pid: () => number | undefined;
  readonly restarts: () => number;
  readonly stop: () => Promise<void>;
};

export type SupervisorEvents = {
  /** A line that a person should see: a crash, a warning. */
  readonly notice: (service: ServiceName, line: string) => void;
  /** The service cannot run with these settings; `reason` is what it said. */
  readonly refused: (service: ServiceName, reason: string) => void;
};

/** Runs one service as a child process, its lines kept in a file, and starts it again when it ends by itself. */
export function supervise(
  name: ServiceName,
  options: { readonly flags: readonly string[]; readonly logFolder: string },
  events: SupervisorEvents,
): Supervised {
  const file = createWriteStream(join(options.logFolder, `${name}.log`), { flags: 'a' });
  let child: ChildProcess | undefined;
  let stopping = false;
  let restarts = 0;
  let timer: NodeJS.Timeout | undefined;
  let ended: Promise<void> = Promise.resolve();

  const start = (): void => {
    const startedAt = monotonicNow();
    const running = spawn(process.execPath, [...process.execArgv, serviceEntry(name), ...options.flags], {
      // the channel tells a service that its supervisor is gone
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    });
    child = running;
    const complaint = keepLines(running, file, (line) => events.notice(name, line));
    ended = new Promise((resolve) => {
      running.once('exit', (code, signal) => {
        child = undefined;
        resolve();
        if (stopping) return;
        if (code === USAGE_EXIT_CODE) return events.refused(name, complaint());
        restarts += 1;
        const delay = restartDelay(restarts, monotonicNow() - startedAt);
        if (delay.healthy) restarts = 1;
        events.notice(name, `ended (${signal ?? `exit ${code}`}); starts again in ${delay.ms / 1000} s`);
        timer = setTimeout(start, delay.ms);
      });
    });
  };
  start();

  const stop = async (): Promise<void> => {
    stopping = true;
    clearTimeout(timer);
    child?.kill('SIGTERM');
    const kill = setTimeout(() => child?.kill('SIGKILL'), DRAIN_LIMIT_MS);
    await ended;
    clearTimeout(kill);
    await new Promise<void>((resolve) => file.end(() => resolve()));
  };
  return { name, pid: () => child?.pid, restarts: () => restarts, stop };
}

/** Writes every line to the file; hands warnings on. Returns a getter of what it last said on standard error. */
function keepLines(child: ChildProcess, file: WriteStream, notice: (line: string) => void): () => string {
  const said: string[] = [];
  createInterface({ input: child.stdout! }).on('line', (line) => {
    file.write(`${line}\n`);
    const warning = warningOf(line);
    if (warning !== undefined) notice(warning);
  });
  createInterface({ input: child.stderr! }).on('line', (line) => {
    file.write(`${line}\n`);
    said.push(line);
    if (said.length > 20) said.shift();
  });
  return () => said.join('\n');
}

const WARN = 40;

/** pino's line as a person reads it, from `warn` on. */
function warningOf(line: string): string | undefined {
  if (!line.startsWith('{')) return undefined;
  try {
    const { level, msg, err } = JSON.parse(line) as {
      level?: number;
      msg?: string;
      err?: { message?: string };
    };
    if (level === undefined || level < WARN) return undefined;
    return [msg, err?.message].filter(Boolean).join(': ');
  } catch {
    return undefined;
  }
}
