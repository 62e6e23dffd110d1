import { clawloop } from './clawloop.ts';

/** Runs one command. @returns its output @throws an error with its output if it fails */
export async function runCommand(...argv: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await clawloop(argv);
  if (code !== 0) throw new Error(`${argv.join(' ')} ended with ${code}: ${stderr}${stdout}`);
  return stdout;
}
