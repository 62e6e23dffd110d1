import type { ShellResult } from '../environment.ts';
import type { CommandResult, Killed } from './run-command.ts';

type Limits = { readonly limitMs: number; readonly storageMb: number };

const notes: Readonly<Record<Killed, (limits: Limits) => string>> = {
  late: ({ limitMs }) => `[killed after ${limitMs / 1000} s]`,
  output: () => '[killed: it printed too much]',
  storage: ({ storageMb }) => `[killed: the container has written more than ${storageMb} MB; remove files]`,
  processes: () => '[no process could start any more, so all processes were ended before this command]',
};

/** A command's result as the agent sees it: with a line that says why it was killed. */
export function shellResultOf({ code, killed, output }: CommandResult, limits: Limits): ShellResult {
  if (killed === undefined) return { code, output };
  const gap = output === '' || output.endsWith('\n') ? '' : '\n';
  return { code, output: `${output}${gap}${notes[killed](limits)}` };
}
