import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { until } from '../e2e/harness/clawloop.ts';
import type { Launcher } from './install.ts';

export type Spawned = {
  readonly launcher: Launcher;
  readonly environment: Readonly<Record<string, string>>;
  readonly folder: string;
};

/** A running program. Its processes form one group, so that `end` leaves none behind. */
export type Child = {
  /** Its output so far. */
  readonly output: () => string;
  /** The part of it from standard output. */
  readonly printed: () => string;
  readonly write: (line: string) => void;
  /** Sends a signal to the program alone, as a key such as Ctrl-C does. */
  readonly signal: (name: NodeJS.Signals) => void;
  readonly hasEnded: () => boolean;
  /** Resolves with the exit code; null: a signal ended it. */
  readonly ended: Promise<number | null>;
  /** Ends the whole group, gently first. */
  readonly end: () => Promise<void>;
};

/** A program must not outlive a test process that is killed. Only Linux offers a way. */
const diesWithUs = spawnSync('setpriv', ['--pdeathsig', 'TERM', 'true'], { stdio: 'ignore' }).status === 0;
const before = diesWithUs ? ['setpriv', '--pdeathsig', 'TERM'] : [];
/** ms that a program has to exit before it is killed */
const GRACE_MS = 3_000;
/** ms within which a program completes an action, also on a busy machine */
export const PATIENCE_MS = 120_000;

export function startChild({ launcher, environment, folder }: Spawned, argv: readonly string[]): Child {
  const [command, ...first] = [...before, ...launcher, ...argv] as [string, ...string[]];
  const child: ChildProcess = spawn(command, first, {
    cwd: folder,
    env: environment,
    stdio: ['pipe', 'pipe', 'pipe'],
    detached: true,
  });
  let [text, printed] = ['', ''];
  child.stdout!.on('data', (part: Buffer) => (printed += part));
  for (const stream of [child.stdout!, child.stderr!]) stream.on('data', (part: Buffer) => (text += part));
  child.stdin!.on('error', () => {}); // it ended before it read everything
  const ended = once(child, 'close').then(([code]) => code as number | null);
  const toGroup = (signal: NodeJS.Signals): void => {
    try {
      process.kill(-child.pid!, signal);
    } catch {} // the group is gone
  };
  return {
    output: () => text,
    printed: () => printed,
    write: (line) => void child.stdin!.write(`${line}\n`),
    signal: (name) => void child.kill(name),
    hasEnded: () => child.exitCode !== null || child.signalCode !== null,
    ended,
    end: async () => {
      child.stdin!.end();
      toGroup('SIGTERM');
      await Promise.race([ended, delay(GRACE_MS, undefined, { ref: false })]);
      toGroup('SIGKILL');
      await ended;
    },
  };
}

/** Runs a program to its end. @returns its output @throws if it fails or takes too long */
export async function runChild(
  spawned: Spawned,
  argv: readonly string[],
  whileRunning: (child: Child) => Promise<void> = async () => {},
): Promise<string> {
  const child = startChild(spawned, argv);
  try {
    await whileRunning(child);
    await until(`${argv.join(' ')} ends`, child.hasEnded, PATIENCE_MS);
    const code = await child.ended;
    if (code !== 0) throw new Error(`${argv.join(' ')} ended with ${code}: ${child.output().slice(-2_000)}`);
    return child.printed();
  } finally {
    await child.end();
  }
}
