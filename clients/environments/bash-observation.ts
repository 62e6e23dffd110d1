import { SUBMIT_LINE } from './bash-prompts.ts';
import type { ShellResult } from './environment.ts';

/** characters of output that the policy sees */
const MOST_CHARACTERS = 10_000;

/** The result of a command in the form for the policy: of long output only the beginning and the end. */
export function observationOf({ code, output }: ShellResult): string {
  const status = code === undefined ? 'killed' : String(code);
  return `<returncode>${status}</returncode>\n<output>\n${cut(output.replace(/\n$/, ''))}\n</output>`;
}

function cut(output: string): string {
  if (output.length <= MOST_CHARACTERS) return output;
  const half = MOST_CHARACTERS / 2;
  const left = output.length - MOST_CHARACTERS;
  return `${output.slice(0, half)}\n[... ${left} characters left out ...]\n${output.slice(-half)}`;
}

/** The text that a command submits; undefined: it does not submit. */
export function submissionIn({ code, output }: ShellResult): string | undefined {
  const [first = '', ...rest] = output.trimStart().split('\n');
  return code === 0 && first.trim() === SUBMIT_LINE ? rest.join('\n').trim() : undefined;
}
