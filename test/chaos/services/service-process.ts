import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { serviceEntry } from '../../../services/cli/service-entry.ts';
import { until } from '../../e2e/harness/clawloop.ts';
import type { ServiceName } from './plan.ts';

const RESTART_MS = 100;
const clock = new URL('./shifted-clock.ts', import.meta.url);

export type ServiceProcess = {
  readonly name: ServiceName;
  /** Base address of its health port. */
  readonly health: string;
  /** SIGKILL; a new process is started after `downMs`. Resolves when that is ready. */
  readonly kill: (downMs: number) => Promise<void>;
  /** SIGTERM; a new process is started at once. Resolves when that is ready. */
  readonly restart: () => Promise<void>;
  /** The folder of the program for later starts. */
  readonly useRelease: (root: string) => void;
  readonly pid: () => number;
  readonly signal: (signal: 'SIGSTOP' | 'SIGCONT') => void;
  readonly untilReady: () => Promise<void>;
  /** Unrequested ends, such as `exit 1`. */
  readonly crashes: readonly string[];
  /** SIGTERM. Resolves to the exit code. */
  readonly stop: () => Promise<number | null>;
};

type Options = {
  readonly name: ServiceName;
  readonly health: string;
  readonly flags: readonly string[];
  /** File of its output. */
  readonly logFile: string;
  /** File with the offset of its wall clock, ms; undefined: the clock is not shifted. */
  readonly clockFile?: string;
  /** Added to this process's own. */
  readonly environment?: Readonly<Record<string, string>>;
};

/** A service under a supervisor that restarts it whenever it ends. */
export function startService({
  name,
  health,
  flags,
  logFile,
  clockFile,
  environment = {},
}: Options): ServiceProcess {
  const lines = createWriteStream(logFile, { flags: 'a' });
  const preload =
    clockFile === undefined ? [] : ['--import', `${clock.href}?${encodeURIComponent(clockFile)}`];
  let entry = serviceEntry(name);
  const crashes: string[] = [];
  let stopping = false;
  let killed = false;
  let restarting = false;
  let restartMs = RESTART_MS;
  let child: ChildProcess;

  const start = (): void => {
    // the channel ends it with a test process that is killed
    child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', ...preload, entry, ...flags], {
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
      env: { ...process.env, ...environment },
    });
    child.stdout!.pipe(lines, { end: false });
    child.stderr!.pipe(lines, { end: false });
    child.once('exit', (code, signal) => {
      if (stopping) return;
      if (!killed && !(restarting && code === 0)) crashes.push(`${name}: ${signal ?? `exit ${code}`}`);
      killed = false;
      restarting = false;
      void delay(restartMs).then(() => {
        restartMs = RESTART_MS;
        if (!stopping) start();
      });
    });
  };
  start();

  /** false: it cannot be asked yet. */
  const answer = () =>
    fetch(`${health}/readyz`, { signal: AbortSignal.timeout(1_000) }).catch(() => false as const);
  const untilReady = async () => {
    await until(`${name} is ready`, async () => isOk(await answer()), 120_000);
  };
  return {
    name,
    health,
    crashes,
    untilReady,
    kill: async (downMs) => {
      if (child.exitCode === null && child.signalCode === null) {
        killed = true;
        restartMs = downMs;
        const gone = once(child, 'exit');
        child.kill('SIGKILL');
        await gone;
        await delay(downMs);
      }
      await untilReady();
    },
    restart: async () => {
      // before that, it may not know what to do at a SIGTERM; an old release may be up and never ready again
      await until(`${name} is up`, answer, 120_000);
      restarting = true;
      const gone = once(child, 'exit');
      if (child.kill('SIGTERM')) await gone;
      await delay(RESTART_MS);
      await untilReady();
    },
    useRelease: (root) => {
      entry = join(root, 'services', name, 'main.ts');
    },
    pid: () => child.pid!,
    signal: (signal) => void child.kill(signal),
    stop: async () => {
      stopping = true;
      if (child.exitCode === null && child.signalCode === null) {
        const gone = once(child, 'exit');
        child.kill('SIGCONT');
        child.kill('SIGTERM');
        await gone;
      }
      lines.end();
      return child.exitCode;
    },
  };
}

const isOk = (response: Response | false): boolean => response !== false && response.ok;
