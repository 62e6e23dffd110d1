import { fileURLToPath } from 'node:url';
import type { Command } from '../command.ts';
import { runChild } from '../run-child.ts';

const entry = fileURLToPath(new URL('../../trainer/replay.ts', import.meta.url));

/** Runs the trainer's replay program in its own process, because it computes for long. */
export const replay: Command = {
  name: 'replay',
  usage: '[--data-folder F] [--model M]',
  about: 'train every version again from the log and compare digests; exit 1 if one differs',
  helps: true,
  run: (argv) => runChild(entry, argv),
};
