import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { constants } from 'node:os';
import { environmentWith } from './config.ts';

/** Runs one of our programs with this process's terminal and signals. Resolves to its exit code. */
export async function runChild(entry: string, argv: readonly string[]): Promise<number> {
  const child = spawn(process.execPath, [...process.execArgv, entry, ...argv], {
    // the channel tells a service when this process is killed
    stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
    env: environmentWith({}),
  });
  process.on('SIGINT', () => {}); // the terminal sends it to the child too
  for (const signal of ['SIGTERM', 'SIGHUP'] as const) process.on(signal, () => child.kill(signal));
  const [code, signal] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null];
  return code ?? 128 + (signal === null ? 0 : constants.signals[signal]);
}
