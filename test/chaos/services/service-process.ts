import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
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
  /** File with the offset of its wall clock, ms. */
  readonly clockFile: string;
};

/** A service under a supervisor that restarts it whenever it ends. */
export function startService({ name, health, flags, logFile, clockFile }: Options): ServiceProcess {
  const lines = createWriteStream(logFile, { flags: 'a' });
  const preload = `${clock.href}?${encodeURIComponent(clockFile)}`;
  const argv = ['--disable-warning=ExperimentalWarning', '--import', preload, serviceEntry(name), ...flags];
  const crashes: string[] = [];
  let stopping = false;
  let killed = false;
  let restartMs = RESTART_MS;
  let child: ChildProcess;

  const start = (): void => {
    // the channel ends it with a test process that is killed
    child = spawn(process.execPath, argv, { stdio: ['ignore', 'pipe', 'pipe', 'ipc'] });
    child.stdout!.pipe(lines, { end: false });
    child.stderr!.pipe(lines, { end: false });
    child.once('exit', (code, signal) => {
      if (stopping) return;
      if (!killed) crashes.push(`${name}: ${signal ?? `exit ${code}`}`);
      killed = false;
      void delay(restartMs).then(() => {
        restartMs = RESTART_MS;
        if (!stopping) start();
      });
    });
  };
  start();

  const isReady = () =>
    fetch(`${health}/readyz`, { signal: AbortSignal.timeout(1_000) }).then(
      ({ ok }) => ok,
      () => false,
    );
  const untilReady = async () => {
    await until(`${name} is ready`, isReady, 120_000);
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
