import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll } from 'vitest';
import { type ClawLoop, startClawLoop } from './clawloop.ts';
import { runCommand } from './run-command.ts';

export type LoopOnFolder = {
  readonly folder: string;
  /** The latest started ClawLoop. */
  readonly loop: ClawLoop;
  readonly start: (...flags: readonly string[]) => Promise<ClawLoop>;
  /** Runs one command on the folder. @returns its output @throws an error with its output if it fails */
  readonly run: (...argv: readonly string[]) => Promise<string>;
};

/**
 * A data folder for all tests of a suite, with all services. They start before the first test if there are `flags`,
 * otherwise the tests start them; they stop after the last test.
 */
export function loopOnFolder(flags?: readonly string[]): LoopOnFolder {
  const on = {} as { -readonly [Name in keyof LoopOnFolder]: LoopOnFolder[Name] };
  on.start = async (...more) => {
    on.loop = await startClawLoop(on.folder, more);
    return on.loop;
  };
  on.run = (...argv) => runCommand(...argv, '--data-folder', on.folder);
  beforeAll(async () => {
    on.folder = await mkdtemp(join(tmpdir(), 'clawloop-loop-'));
    if (flags !== undefined) await on.start(...flags);
  });
  afterAll(async () => {
    await on.loop?.stop();
    await rm(on.folder, { recursive: true, force: true });
  });
  return on;
}
