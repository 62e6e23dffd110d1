import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { monotonicNow } from '../../../shared/runtime/clock.ts';
import { lowerPriority } from '../../../shared/runtime/lower-priority.ts';
import { REFUSED_EXIT_CODE } from '../../../shared/runtime/refusal.ts';
import { createRepeats } from '../../../shared/runtime/repeats.ts';
import { environmentWith } from '../config.ts';
import { type ProcessName, programOf } from '../service-entry.ts';
import { restartDelay } from './restart-delay.ts';
import { appendTo, type RotationLimits } from './rotating-file.ts';

/** ms that a service has to drain before it is killed */
const DRAIN_LIMIT_MS = 12_000;

export type Supervised = {
  readonly name: ProcessName;
  readonly stop: () => Promise<void>;
};

export type SupervisorEvents = {
  /** The service runs under this process id; undefined: it waits for its restart. */
  readonly runs: (service: ProcessName, pid: number | undefined) => void;
  /** A line for the operator: a crash, or a warning (the same one at most once a minute). */
  readonly notice: (service: ProcessName, line: string) => void;
  /** Every line that a service writes. */
  readonly output: (service: ProcessName, line: string) => void;
  /** The service cannot run, so a restart would not help; `reason` is its own message. */
  readonly refused: (service: ProcessName, reason: string) => void;
};

type SuperviseOptions = {
  readonly flags: readonly string[];
  /** environment variables that no command line may show */
  readonly secrets: Readonly<Record<string, string>>;
  readonly logFolder: string;
  readonly logLimits: RotationLimits;
  /** Only a refusal of its first start stops the other services. */
  readonly isOptional?: boolean;
};

/** Runs a service as a child process, logs its lines to a file, and restarts it if it ends unexpectedly. */
export function supervise(
  name: ProcessName,
  options: SuperviseOptions,
  events: SupervisorEvents,
): Supervised {
  const keep = appendTo(join(options.logFolder, `${name}.log`), options.logLimits);
  const repeats = createRepeats(monotonicNow);
  let child: ChildProcess | undefined;
  let stopping = false;
  let crashes = 0;
  let timer: NodeJS.Timeout | undefined;
  let ended: Promise<void> = Promise.resolve();

  const start = (): void => {
    const startedAt = monotonicNow();
    const running = spawnService(name, options);
    child = running;
    const lastErrors = keepLines(
      running,
      (line) => {
        keep(line);
        events.output(name, line);
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
      if (refused && !(options.isOptional && crashes > 0)) {
        events.refused(name, lastErrors());
        return;
      }
      crashes += 1;
      const delay = restartDelay(crashes, monotonicNow() - startedAt);
      if (delay.healthy) crashes = 1;
      const why = /^clawloop: .*/m.exec(lastErrors())?.[0].replace('clawloop', '') ?? '';
      events.notice(name, `ended (${how}${why}); starts again in ${delay.ms / 1000} s`);
      timer = setTimeout(start, delay.ms);
    };
    ended = new Promise((resolve) => {
      // `close`, not `exit`: by then all output has been read
      running.once('close', (code, signal) => {
        onEnd(signal ?? `exit ${code}`, code === REFUSED_EXIT_CODE);
        resolve();
      });
      running.on('error', (error) => {
        if (running.pid !== undefined) return; // a message was not delivered; `close` reports the end
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

function spawnService(name: ProcessName, { flags, secrets }: SuperviseOptions): ChildProcess {
  const child = spawn(process.execPath, [...process.execArgv, ...programOf(name), ...flags], {
    // the service sees the channel close when its supervisor is gone
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    env: environmentWith(secrets),
  });
  // from its first moment, so that serving is ready as early as without it
  if (name === 'console' && child.pid !== undefined) lowerPriority(child.pid);
  return child;
}

/** Keeps every line and passes warnings on. Returns a getter of the last lines on standard error. */
function keepLines(
  child: ChildProcess,
  keep: (line: string) => void,
  notice: (line: string) => void,
): () => string {
  const errors: string[] = [];
  createInterface({ input: child.stdout! }).on('line', (line) => {
    keep(line);
    const warning = warningOf(line);
    if (warning !== undefined) notice(warning);
  });
  createInterface({ input: child.stderr! }).on('line', (line) => {
    keep(line);
    errors.push(line);
    if (errors.length > 20) errors.shift();
  });
  return () => errors.join('\n');
}

const WARN = 40;

/** The text of a pino line of level `warn` or above. */
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
