import { fileURLToPath } from 'node:url';
import { runChild } from '../run-child.ts';
import type { ServiceName } from '../service-entry.ts';

const DIFFERENT = 1;

const services: readonly ServiceName[] = ['collector', 'judge', 'trainer'];

/**
 * Each service folds its own part again, in a process of its own. Resolves to the exit code: that a part
 * differs outweighs that another cannot tell.
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
  0: 'a rebuild gives the same facts and rows',
  1: 'a rebuild gives other facts or rows',
  2: 'cannot tell',
};
