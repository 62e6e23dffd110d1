import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Command } from '../command.ts';

const entry = fileURLToPath(new URL('../../trainer/replay.ts', import.meta.url));

/** Runs as the trainer's own program, in a process of its own: it computes. */
export const replay: Command = {
  name: 'replay',
  usage: '[--data-folder F]',
  about: 'trains every version again from the log and compares digests; exit 1 when one differs',
  run: async (argv) => {
    const child = spawn(process.execPath, [...process.execArgv, entry, ...argv], { stdio: 'inherit' });
    process.on('SIGINT', () => {}); // the terminal tells the child itself
    const [code] = (await once(child, 'exit')) as [number | null];
    return code ?? 1;
  },
};
