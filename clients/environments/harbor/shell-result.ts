import type { ShellResult } from '../environment.ts';
import type { CommandResult, Killed, Mended } from './run-command.ts';

type Limits = { readonly limitMs: number; readonly storageMb: number };

const notes: Readonly<Record<Killed, (limits: Limits) => string>> = {
  late: ({ limitMs }) => `[killed after ${limitMs / 1000} s]`,
  output: () => '[killed: it printed too much]',
  storage: ({ storageMb }) => `[killed: the container has written more than ${storageMb} MB; remove files]`,
};

const mends: Readonly<Record<Mended, string>> = {
  processes: '[no process could start any more, so all processes were ended before this command]',
  workdir: '[the working directory was gone, so it was made again before this command]',
};

/** A command's result as the agent sees it: with lines that say why it was killed, and what was mended before. */
export function shellResultOf({ code, killed, mended, output }: CommandResult, limits: Limits): ShellResult {
  const lines = [
    ...(mended === undefined ? [] : [mends[mended]]),
    ...(killed === undefined ? [] : [notes[killed](limits)]),
  ];
  if (lines.length === 0) return { code, output };
  const gap = output === '' || output.endsWith('\n') ? '' : '\n';
  return { code, output: `${output}${gap}${lines.join('\n')}` };
}
