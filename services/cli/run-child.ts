import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { constants } from 'node:os';
import { environmentWith } from './config.ts';

/**
 * Runs a program of ours in this one's place: its terminal, its signals, its end. Resolves to the exit code.
 */
export async function runChild(entry: string, argv: readonly string[]): Promise<number> {
  const child = spawn(process.execPath, [...process.execArgv, entry, ...argv], {
    // the channel tells a service that this process was killed
    stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
    env: environmentWith({}),
  });
  process.on('SIGINT', () => {}); // the terminal tells the child itself
  for (const signal of ['SIGTERM', 'SIGHUP'] as const) process.on(signal, () => child.kill(signal));
  const [code, signal] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null];
  return code ?? 128 + (signal === null ? 0 : constants.signals[signal]);
}
