import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The tasks that come with ClawLoop. */
export const terminal = fileURLToPath(new URL('../../../examples/terminal/', import.meta.url));

export const terminalTasks = (): readonly string[] =>
  readdirSync(terminal).filter((name) => !name.endsWith('.md'));

/** The script of a task's reference solution, or of one of its steps. */
export const solutionOf = (task: string, step?: string): string =>
  readFileSync(
    join(terminal, task, ...(step === undefined ? [] : ['steps', step]), 'solution/solve.sh'),
    'utf8',
  );

/** A folder with copies of some of the tasks. */
export function someTasks(...names: readonly string[]): string {
  const folder = mkdtempSync(join(tmpdir(), 'clawloop-terminal-'));
  for (const name of names) cpSync(join(terminal, name), join(folder, name), { recursive: true });
  return folder;
}

type OwnTask = {
  /** script that rates */
  readonly test: string;
  readonly toml?: string;
  readonly dockerfile?: string;
  /** other files by path */
  readonly files?: Readonly<Record<string, string>>;
};

/** Writes tasks into a new folder. */
export function ownTasks(tasks: Readonly<Record<string, OwnTask>>): string {
  const folder = mkdtempSync(join(tmpdir(), 'clawloop-tasks-'));
  for (const [
    name,
    { test, toml = '', dockerfile = 'FROM debian:bookworm-slim\nWORKDIR /app\n', files = {} },
  ] of Object.entries(tasks)) {
    const all = {
      'task.toml': `schema_version = "1.4"\n${toml}`,
      'instruction.md': `Task ${name}.\n`,
      'environment/Dockerfile': dockerfile,
      'tests/test.sh': `#!/bin/bash\n${test}\n`,
      'solution/solve.sh': '#!/bin/bash\n',
      ...files,
    };
    for (const [path, text] of Object.entries(all)) {
      const file = join(folder, name, path);
      mkdirSync(join(file, '..'), { recursive: true });
      writeFileSync(file, text);
    }
  }
  return folder;
}
