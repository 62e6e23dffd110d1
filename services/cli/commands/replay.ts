import { fileURLToPath } from 'node:url';
import type { Command } from '../command.ts';
import { runChild } from '../run-child.ts';

const entry = fileURLToPath(new URL('../../trainer/replay.ts', import.meta.url));

/** Runs as the trainer's own program, in a process of its own: it computes. */
export const replay: Command = {
  name: 'replay',
  usage: '[--data-folder F] [--model M]',
  about: 'trains every version again from the log and compares digests; exit 1 when one differs',
  helps: true,
  run: (argv) => runChild(entry, argv),
};
