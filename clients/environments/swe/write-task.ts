import { chmod, copyFile, cp, mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { applyEdit, type Edit } from './edit.ts';
import { instructionText } from './instruction.ts';
import type { PackageSource } from './package-source.ts';
import { findExpression } from './toolchain.ts';
import type { TestRun, Verdict } from './verdict.ts';
import { here, runnerFile } from './workbench.ts';

export type Bug = {
  readonly edit: Edit;
  readonly verdict: Verdict;
  readonly withBug: TestRun;
  /** unified diff that removes the bug */
  readonly fix: string;
};

type Written = {
  readonly source: PackageSource;
  /** of the package without the bug */
  readonly originalText: string;
  /** every folder or file that an agent may change */
  readonly roots: readonly string[];
  readonly testFiles: readonly string[];
  /** ms that the tests may take */
  readonly limitMs: number;
};

/** Writes a bug as a Harbor task directory. The folder must not exist. */
export async function writeTask(
  folder: string,
  name: string,
  bug: Bug,
  { source, originalText, roots, testFiles, limitMs }: Written,
): Promise<void> {
  const { toolchain } = source;
  const write = async (path: string, text: string): Promise<void> => {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), text);
  };
  await mkdir(folder);
  await write('instruction.md', instructionText({ ...source, ...bug }));
  await write('task.toml', taskFile(name, source, bug, limitMs));

  await cp(source.folder, join(folder, 'environment/source'), { recursive: true });
  await write(`environment/source/${bug.edit.file}`, applyEdit(originalText, bug.edit));
  await write('environment/Dockerfile', `${toolchain.image}\n${COMMITTED}`);

  await write('solution/fix.patch', bug.fix);
  await write('solution/solve.sh', SOLVE);

  for (const path of testFiles) {
    await mkdir(dirname(join(folder, 'tests/originals', path)), { recursive: true });
    await copyFile(join(source.folder, path), join(folder, 'tests/originals', path));
  }
  await mkdir(join(folder, 'tests/originals'), { recursive: true });
  for (const file of toolchain.runner)
    await copyFile(runnerFile(toolchain, file), join(folder, 'tests', file));
  await copyFile(join(here, 'runner/run-apart.sh'), join(folder, 'tests/run-apart.sh'));
  const test = await readFile(join(here, 'runner/test.sh'), 'utf8');
  const seconds = String(Math.ceil(limitMs / 1000));
  await write(
    'tests/test.sh',
    test.replace('@TEST_FILES@', () => findExpression(toolchain)).replace('@SECONDS@', seconds),
  );
  await write('tests/roots.txt', linesOf(roots));
  await write('tests/fail-to-pass.txt', linesOf(bug.verdict.failToPass.map(asWritten)));
  await write('tests/pass-to-pass.txt', linesOf(bug.verdict.passToPass.map(asWritten)));
  for (const path of ['tests/test.sh', 'solution/solve.sh']) await chmod(join(folder, path), 0o755);
}

const linesOf = (lines: readonly string[]): string => lines.map((line) => `${line}\n`).join('');

/** A test's id as the reporters write it: JSON in ASCII, since Python escapes all other characters. */
export const asWritten = (id: string): string =>
  JSON.stringify(id).replaceAll(
    /[\u007f-\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );

/** A single commit, so that the history does not contain the source without the bug. */
const COMMITTED = `COPY source /app
WORKDIR /app
RUN git init --quiet && git add --all --force \\
  && git -c user.name=Maintainer -c user.email=maintainer@example.org commit --quiet --message "Source"
`;

const SOLVE = `#!/bin/sh
cd /app && git apply "$(dirname "$(readlink -f "$0")")/fix.patch"
`;

/** The agent's folder, for the container in which it is graded. What the agent did to git does not matter. */
const COLLECT =
  'rm -rf /logs/artifacts/app && mkdir -p /logs/artifacts/app && cp -a /app/. /logs/artifacts/app/ && rm -rf /logs/artifacts/app/.git';

function taskFile(
  name: string,
  { title, toolchain }: PackageSource,
  { edit, verdict }: Bug,
  limitMs: number,
): string {
  const text = JSON.stringify; // a JSON string is a TOML string
  return `schema_version = "1.4"

[task]
name = ${text(`clawloop/${name}`)}
description = ${text(`A bug in ${title}`)}
keywords = ["software-engineering", ${text(toolchain.language)}]

[metadata]
modifier = ${text(edit.modifier)}
file = ${text(edit.file)}
line = ${edit.line}
fail_to_pass = ${verdict.failToPass.length}
pass_to_pass = ${verdict.passToPass.length}

[agent]
timeout_sec = 1800.0

[verifier]
environment_mode = "separate"
timeout_sec = ${Math.ceil(limitMs / 1000) + 120}.0

[[verifier.collect]]
command = ${text(COLLECT)}

[environment]
network_mode = "no-network"
workdir = "/app"
cpus = 1
memory_mb = 2048
`;
}
