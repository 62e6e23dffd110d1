import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { freePorts } from '../../../shared/runtime/free-port.ts';

const cli = fileURLToPath(new URL('../../../services/cli/main.ts', import.meta.url));
const nodeFlags = ['--disable-warning=ExperimentalWarning'];

export type ClawLoop = {
  readonly url: string;
  readonly dataFolder: string;
  /** What `up` has printed so far. */
  readonly output: () => string;
  /** Process ids by service, as they are now. */
  readonly pids: () => Promise<Readonly<Record<string, number>>>;
  /** Process id of `up` itself. */
  readonly supervisor: number;
  /** Closes the pipe of the output of `up`. */
  readonly closeOutput: () => void;
  /** Closes its channel, as when its parent process is killed. */
  readonly abandon: () => void;
  readonly stop: () => Promise<number>;
};

/** Ports of each worker of vitest. */
const PORTS = 1_000;

/** A free port for a process that listens on it later. It is reserved for this worker. */
export const freePort = freePorts({
  first: 10_000 + (Number(process.env.VITEST_POOL_ID ?? 0) % 20) * PORTS,
  count: PORTS,
  start: process.pid * 37, // two runs at the same time begin elsewhere
});

/**
 * Polls until the condition holds. A condition that takes long, such as a command, is followed by a pause of the same
 * length, so that the services under test get at least half of the time. @throws with `what` after `limitMs`
 */
export async function until<Result>(
  what: string,
  condition: () => Result | undefined | false | Promise<Result | undefined | false>,
  limitMs = 120_000, // enough for a machine that is ten times as slow
): Promise<Result> {
  const end = performance.now() + limitMs;
  for (let now = performance.now(); now < end; now = performance.now()) {
    const result = await condition();
    if (result !== undefined && result !== false) return result;
    await delay(Math.max(50, performance.now() - now));
  }
  throw new Error(`waited ${limitMs / 1000} s in vain: ${what}`);
}

/**
 * `clawloop up` on free ports and the given data folder; resolves when serving is ready. The console runs only if a
 * flag of the console is given. `environment` is added to this process's own.
 */
export async function startClawLoop(
  dataFolder: string,
  flags: readonly string[] = [],
  environment: Readonly<Record<string, string>> = {},
): Promise<ClawLoop> {
  const [port, ...health] = await Promise.all([freePort(), freePort(), freePort(), freePort()]);
  const ports = ['collector', 'judge', 'trainer'].flatMap((name, index) => [
    `--${name}-health-port`,
    String(health[index]),
  ]);
  const child = spawn(
    process.execPath,
    [
      ...nodeFlags,
      cli,
      'up',
      ...['--data-folder', dataFolder, '--port', String(port)],
      ...ports,
      ...(flags.some((flag) => flag.startsWith('--console-')) ? [] : ['--no-console']),
      ...flags,
    ],
    // the channel ends it with a test process that is killed
    { stdio: ['ignore', 'pipe', 'pipe', 'ipc'], env: { ...process.env, ...environment } },
  );
  let text = '';
  child.stdout!.on('data', (chunk: Buffer) => (text += chunk.toString()));
  child.stderr!.on('data', (chunk: Buffer) => (text += chunk.toString()));
  const url = `http://127.0.0.1:${port}`;
  await until('serving is ready', async () => {
    if (child.exitCode !== null) throw new Error(`clawloop up ended:\n${text}`);
    return fetch(`${url}/readyz`).then(
      ({ ok }) => ok,
      () => false,
    );
  }).catch(async (error: Error) => {
    await stopChild(child);
    throw new Error(`${error.message}\n${text}`);
  });
  return {
    url,
    dataFolder,
    output: () => text,
    pids: () => runningPids(dataFolder),
    supervisor: child.pid!,
    closeOutput: () => child.stdout!.destroy(),
    abandon: () => child.disconnect(),
    stop: () => stopChild(child),
  };
}

async function runningPids(dataFolder: string): Promise<Readonly<Record<string, number>>> {
  const running = JSON.parse(await readFile(join(dataFolder, 'running.json'), 'utf8')) as {
    services: Readonly<Record<string, number>>;
  };
  return running.services;
}

async function stopChild(child: ChildProcess): Promise<number> {
  if (child.exitCode === null && child.signalCode === null) {
    child.kill('SIGTERM');
    await once(child, 'exit');
  }
  return child.exitCode ?? 1;
}

/**
 * Runs one command of the cli to its end. `environment` is added to this process's own; `onStart` gets a function that
 * sends the command a signal.
 */
export async function clawloop(
  argv: readonly string[],
  environment: Readonly<Record<string, string>> = {},
  onStart: (signal: (name: NodeJS.Signals) => void, pid: number) => void = () => {},
  program: string = cli,
): Promise<{ readonly code: number; readonly stdout: string; readonly stderr: string }> {
  const child = spawn(process.execPath, [...nodeFlags, program, ...argv], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...environment },
  });
  onStart((name) => child.kill(name), child.pid!);
  let stdout = '';
  let stderr = '';
  child.stdout.on('data', (chunk: Buffer) => (stdout += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
  const [code] = (await once(child, 'close')) as [number | null];
  return { code: code ?? 1, stdout, stderr };
}
