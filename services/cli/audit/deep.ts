import { fileURLToPath } from 'node:url';
import { runChild } from '../run-child.ts';
import type { ServiceName } from '../service-entry.ts';

const DIFFERENT = 1;

const services: readonly ServiceName[] = ['collector', 'judge', 'trainer'];

/**
 * Each service folds its part again, in its own process. Resolves to the exit code: "different" outweighs
 * "undecided".
 */
export async function auditDeep(argv: readonly string[]): Promise<number> {
  const codes: number[] = [];
  for (const name of services) {
    const entry = fileURLToPath(new URL(`../../${name}/deep-audit.ts`, import.meta.url));
    const code = await runChild(entry, argv);
    if (code > 2) return code;
    codes.push(code);
  }
  const code = codes.includes(DIFFERENT) ? DIFFERENT : Math.max(...codes);
  console.log(verdicts[code]);
  return code;
}

const verdicts: Readonly<Record<number, string>> = {
  0: 'a rebuild gives the same events and rows',
  1: 'a rebuild gives different events or rows',
  2: 'undecided: parts of the log cannot be rebuilt',
};
