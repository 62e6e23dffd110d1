import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { monotonicNow } from '../../../shared/service/clock.ts';
import { REFUSED_EXIT_CODE } from '../../../shared/service/refusal.ts';
import { environmentWith } from '../config.ts';
import { type ProcessName, programOf } from '../service-entry.ts';
import { createRepeats } from './repeats.ts';
import { restartDelay } from './restart-delay.ts';
import { appendTo } from './rotating-file.ts';

/** ms that a service may take to drain before it is killed. */
const DRAIN_LIMIT_MS = 12_000;

export type Supervised = {
  readonly name: ProcessName;
  readonly stop: () => Promise<void>;
};

export type SupervisorEvents = {
  /** It runs under this process id now; undefined: it waits for its restart. */
  readonly runs: (service: ProcessName, pid: number | undefined) => void;
  /** A line that a person should see: a crash, a warning (the same one once a minute). */
  readonly notice: (service: ProcessName, line: string) => void;
  /** Each line that a service writes, as it is. */
  readonly said: (service: ProcessName, line: string) => void;
  /** The service would end again however often it was started; `reason` is what it said. */
  readonly refused: (service: ProcessName, reason: string) => void;
};

/**
 * Runs one service as a child process, its lines kept in a file, and starts it again when it ends by itself.
 */
export function supervise(
  name: ProcessName,
  options: {
    readonly flags: readonly string[];
    /** environment variables of its own */
    readonly secrets: Readonly<Record<string, string>>;
    readonly logFolder: string;
    /** Only its first start can be refused: what goes wrong later stops no other service. */
    readonly isBeside?: boolean;
  },
  events: SupervisorEvents,
): Supervised {
  const keep = appendTo(join(options.logFolder, `${name}.log`));
  const repeats = createRepeats(monotonicNow);
  let child: ChildProcess | undefined;
  let stopping = false;
  let crashes = 0;
  let timer: NodeJS.Timeout | undefined;
  let ended: Promise<void> = Promise.resolve();

  const start = (): void => {
    const startedAt = monotonicNow();
    const running = spawn(process.execPath, [...process.execArgv, ...programOf(name), ...options.flags], {
      // the channel tells a service that its supervisor is gone
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
      env: environmentWith(options.secrets),
    });
    child = running;
    const complaint = keepLines(
      running,
      (line) => {
        keep(line);
        events.said(name, line);
      },
      (line) => {
        const shown = repeats(line);
        if (shown !== undefined) events.notice(name, shown);
      },
    );
    const onEnd = (how: string, refused: boolean): void => {
      if (child !== running) return;
      child = undefined;
      if (stopping) return;
      events.runs(name, undefined);
      if (refused && !(options.isBeside && crashes > 0)) {
        events.refused(name, complaint());
        return;
      }
      crashes += 1;
      const delay = restartDelay(crashes, monotonicNow() - startedAt);
      if (delay.healthy) crashes = 1;
      const why = /^clawloop: .*/m.exec(complaint())?.[0].replace('clawloop', '') ?? '';
      events.notice(name, `ended (${how}${why}); starts again in ${delay.ms / 1000} s`);
      timer = setTimeout(start, delay.ms);
    };
    ended = new Promise((resolve) => {
      // not `exit`: by `close`, all that it said has been read
      running.once('close', (code, signal) => {
        onEnd(signal ?? `exit ${code}`, code === REFUSED_EXIT_CODE);
        resolve();
      });
      running.on('error', (error) => {
        if (running.pid !== undefined) return; // a message that did not arrive; its end is told by `close`
        onEnd(error.message, false);
        resolve();
      });
    });
    if (running.pid !== undefined) events.runs(name, running.pid);
  };
  start();

  const stop = async (): Promise<void> => {
    stopping = true;
    clearTimeout(timer);
    child?.kill('SIGTERM');
    const kill = setTimeout(() => child?.kill('SIGKILL'), DRAIN_LIMIT_MS);
    await ended;
    clearTimeout(kill);
  };
  return { name, stop };
}

/** Keeps every line; hands warnings on. Returns a getter of what it last said on standard error. */
function keepLines(
  child: ChildProcess,
  keep: (line: string) => void,
  notice: (line: string) => void,
): () => string {
  const said: string[] = [];
  createInterface({ input: child.stdout! }).on('line', (line) => {
    keep(line);
    const warning = warningOf(line);
    if (warning !== undefined) notice(warning);
  });
  createInterface({ input: child.stderr! }).on('line', (line) => {
    keep(line);
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
    const { level, msg, err, reason } = JSON.parse(line) as {
      level?: number;
      msg?: string;
      err?: { message?: string };
      reason?: string;
    };
    if (level === undefined || level < WARN) return undefined;
    return [msg, err?.message ?? reason].filter(Boolean).join(': ');
  } catch {
    return undefined;
  }
}
