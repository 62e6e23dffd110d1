import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import { UsageError } from '../../../shared/runtime/command-errors.ts';
import { whyRefused } from './refusals.ts';
import { readTaskFile, type StepTable, type TaskFile } from './task-file.ts';
import { resolveVariables } from './variables.ts';

type TaskStep = {
  readonly table: StepTable;
  readonly instruction: string;
  /** has `tests`, `solution` and `workdir` of its own */
  readonly folder: string;
};

/** A task directory of Harbor. */
export type HarborTask = {
  readonly name: string;
  readonly folder: string;
  readonly file: TaskFile;
  /** words of the task; for several steps those of the first */
  readonly instruction: string;
  /** empty: the task has one step, which is the task itself */
  readonly steps: readonly TaskStep[];
};

const TASK_FILE = 'task.toml';

/**
 * The folders of tasks in a place: the place itself, or those right below it, by name.
 *
 * @throws UsageError when there is none
 */
export async function taskFoldersIn(place: string): Promise<readonly string[]> {
  const folder = resolve(place);
  if (existsSync(join(folder, TASK_FILE))) return [folder];
  const entries = await readdir(folder).catch((error: Error) => {
    throw new UsageError(`cannot read ${place}: ${error.message}`);
  });
  const tasks = entries.sort().flatMap((name) => {
    const path = join(folder, name);
    return existsSync(join(path, TASK_FILE)) ? [path] : [];
  });
  if (tasks.length === 0) throw new UsageError(`${place} has no task: no folder in it has a ${TASK_FILE}`);
  return tasks;
}

/** @throws UsageError when the folder is no task, or a task that ClawLoop refuses */
export async function readTask(folder: string, withNetwork: boolean): Promise<HarborTask> {
  const file = readTaskFile(await textOf(join(folder, TASK_FILE)), join(folder, TASK_FILE));
  const name = basename(folder);
  const reason = whyRefused(file, { withNetwork, has: (path) => existsSync(join(folder, path)) });
  if (reason !== undefined) throw new UsageError(`the task ${name} ${reason}`);
  for (const { env } of [file.environment, file.verifier, ...file.steps.map((step) => step.verifier)])
    resolveVariables(env, process.env); // throws now rather than in the middle of an attempt
  const steps = await Promise.all(
    file.steps.map(async (table) => {
      const stepFolder = join(folder, 'steps', table.name);
      return { table, folder: stepFolder, instruction: await textOf(join(stepFolder, 'instruction.md')) };
    }),
  );
  const instruction = steps[0]?.instruction ?? (await textOf(join(folder, 'instruction.md')));
  return { name, folder, file, instruction, steps };
}

const textOf = (path: string): Promise<string> =>
  readFile(path, 'utf8').catch((error: Error) => {
    throw new UsageError(`cannot read ${path}: ${error.message}`);
  });
