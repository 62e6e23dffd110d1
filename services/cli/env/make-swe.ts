import { resolve } from 'node:path';
import { containerTool } from '../../../clients/environments/harbor/container-tool.ts';
import {
  type MadeTasks,
  type MakeTasksProgress,
  makeTasks,
} from '../../../clients/environments/swe/make-tasks.ts';
import { readSpecification } from '../../../clients/environments/swe/package-source.ts';
import { UsageError } from '../../../shared/runtime/command-errors.ts';
import { barOf } from '../../../shared/runtime/progress-bar.ts';
import { INTERRUPTED, stopOnSignals } from '../../../shared/runtime/stop-on-signals.ts';
import { formatTable } from '../../../shared/runtime/table.ts';
import { writeOver } from '../../../shared/runtime/terminal.ts';
import type { Command } from '../command.ts';
import { ANY_WORDS, readOptions, wholeNumber } from '../options.ts';

export const MAKE_SWE_USAGE = 'make-swe PACKAGE --out FOLDER';

export const makeSweDetails: NonNullable<Command['details']> = [
  [
    'make-swe PACKAGE',
    'software tasks: bugs in a package, whose tests rate the fix. PACKAGE is pypi:NAME==VERSION, npm:NAME@VERSION or a folder',
  ],
  ['--out FOLDER', 'where make-swe writes the task directories; no task there may have the same name'],
  ['--count N', 'tasks that make-swe makes; default 1'],
  ['--seed N', 'order in which make-swe tries changes; default 0'],
];

/** `clawloop env make-swe`. Resolves to the exit code. */
export async function makeSwe(argv: readonly string[]): Promise<number> {
  const { values, words } = readOptions(
    argv,
    {
      out: { type: 'string' },
      count: { type: 'string', default: '1' },
      seed: { type: 'string', default: '0' },
      'container-tool': { type: 'string' },
    },
    ANY_WORDS,
  );
  const [word, ...rest] = words;
  if (word === undefined || rest.length > 0 || values.out === undefined)
    throw new UsageError(`usage: env ${MAKE_SWE_USAGE}`);
  const tool = values['container-tool'];
  if (tool !== undefined && tool !== 'podman' && tool !== 'docker')
    throw new UsageError(`--container-tool must be podman or docker, not '${tool}'`);
  const count = wholeNumber(values.count, '--count');
  if (count < 1) throw new UsageError('--count must be 1 or more');
  const stop = new AbortController();
  const ignoreSignals = stopOnSignals(
    stop,
    'stopping: the container is removed; press Ctrl-C again to stop at once',
  );
  const progress = openLines(process.stderr);
  try {
    const made = await makeTasks({
      specification: readSpecification(word),
      out: resolve(values.out),
      count,
      seed: wholeNumber(values.seed, '--seed'),
      tool: containerTool(tool),
      signal: stop.signal,
      onProgress: (at) => progress.on(progressLine(at)),
    });
    progress.end();
    return report(made, values.out, count);
  } catch (error) {
    progress.end();
    if (stop.signal.aborted) return INTERRUPTED;
    throw error;
  } finally {
    ignoreSignals();
  }
}

const STEPS = {
  fetching: 'fetching the package',
  building: 'building the image',
  testing: 'running the tests three times',
} as const;

function progressLine(progress: MakeTasksProgress): string {
  if (progress.step !== 'trying') return `make-swe: ${STEPS[progress.step]}`;
  const { made, count, tried } = progress;
  return `make-swe ${barOf({ done: made, total: count })} ${made} of ${count} tasks, ${tried} changes tried`;
}

/** On a terminal one line that changes, elsewhere a line for each change. */
function openLines(output: NodeJS.WriteStream) {
  let last = '';
  return {
    on: (line: string) => {
      if (line === last) return;
      if (output.isTTY) writeOver(output, line);
      else output.write(`${line}\n`);
      last = line;
    },
    end: () => void (output.isTTY && last !== '' && output.write('\n')),
  };
}

function report({ tasks, tried, edits, stable, flaky }: MadeTasks, out: string, count: number): number {
  const rows = tasks.map((task) => [task.name, task.modifier, task.failToPass, task.passToPass]);
  if (rows.length > 0)
    console.log(formatTable(['task', 'change', 'tests that fail', 'tests that pass'], rows));
  console.log(
    `${tasks.length} tasks from ${tried} of ${edits} changes; ${stable} tests pass every time, ${flaky} are flaky and left out`,
  );
  console.log(`check them with: clawloop env check harbor:${out}`);
  if (tasks.length >= count) return 0;
  console.log('no other change breaks a test and leaves one that passes');
  return 1;
}
