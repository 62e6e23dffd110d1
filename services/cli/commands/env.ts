import {
  type CheckedTask,
  checkTasks,
  faultOf,
  type Outcome,
} from '../../../clients/environments/harbor/check-tasks.ts';
import { harborDriver } from '../../../clients/environments/harbor/driver.ts';
import { containerSettings, rangeOf } from '../../../clients/rollout/settings.ts';
import { UsageError } from '../../../shared/runtime/command-errors.ts';
import { barOf, openBar } from '../../../shared/runtime/progress-bar.ts';
import { INTERRUPTED, stopOnSignals } from '../../../shared/runtime/stop-on-signals.ts';
import { formatTable } from '../../../shared/runtime/table.ts';
import type { Command } from '../command.ts';
import { listEnvironments } from '../env/list-environments.ts';
import { MAKE_SWE_USAGE, makeSwe, makeSweDetails } from '../env/make-swe.ts';
import { ANY_WORDS, readOptions } from '../options.ts';

/** ms for one command that a check runs as the agent would */
const ACT_LIMIT_MS = 60_000;

const flags = {
  tasks: { type: 'string' },
  'container-tool': { type: 'string' },
  environments: { type: 'string', default: '4' },
  network: { type: 'boolean', default: false },
} as const;
type Values = ReturnType<typeof readOptions<typeof flags>>['values'];

export const env: Command = {
  name: 'env',
  usage: `(list | check harbor:FOLDER | ${MAKE_SWE_USAGE})`,
  about: 'list environments in use, check their tasks, or make tasks from a package',
  details: [
    ['list', 'environments that attempts use now; --url and --key as for rollout'],
    ['check harbor:FOLDER', 'each task builds, earns 0 untouched and 1 with its reference solution, twice'],
    ['--tasks N|FROM:TO', 'first N tasks, or a range of them; default: all'],
    ['--container-tool NAME', 'podman or docker; default: the one that is installed'],
    ['--environments N', 'containers at once; default 4'],
    ['--network', 'give a network to containers whose task asks for one'],
    ...makeSweDetails,
  ],
  outlivesReader: true,
  run: async (argv) => {
    if (argv[0] === 'make-swe') return makeSwe(argv.slice(1));
    if (argv[0] === 'list') return listEnvironments(argv.slice(1));
    const { values, words } = readOptions(argv, flags, ANY_WORDS);
    const [action, ...places] = words;
    switch (action) {
      case 'check':
        return check(values, places);
      default:
        throw new UsageError(USAGE);
    }
  },
};

const USAGE = `usage: env (list | check harbor:FOLDER | ${MAKE_SWE_USAGE})`;

async function check(values: Values, [specification = '', ...others]: readonly string[]): Promise<number> {
  const place = /^harbor:(.+)$/s.exec(specification)?.[1];
  if (place === undefined || others.length > 0) throw new UsageError(USAGE);
  const selection = { split: undefined, range: rangeOf(values.tasks) };
  const driver = harborDriver({ place, actLimitMs: ACT_LIMIT_MS, ...containerSettings(values) });
  const tasks = await driver.tasks(selection);
  const stop = new AbortController();
  const ignoreSignals = stopOnSignals(
    stop,
    'stopping: containers are removed; press Ctrl-C again to stop at once',
  );
  const bar = openBar(process.stderr, (progress: { readonly done: number; readonly total: number }) => {
    return `check ${barOf(progress)} ${progress.done} of ${progress.total} tasks`;
  });
  let done = 0;
  bar.on({ done, total: tasks.length });
  try {
    const onTask = () => bar.on({ done: ++done, total: tasks.length });
    const checked = await checkTasks(driver, tasks, { signal: stop.signal, onTask });
    bar.end();
    return stop.signal.aborted ? INTERRUPTED : report(checked);
  } finally {
    await driver.close?.();
    ignoreSignals();
  }
}

/** Prints the table. Returns the exit code. */
function report(checked: readonly CheckedTask[]): number {
  const rows = checked.map((task) => [
    task.name,
    shownAll(task.nop),
    shownAll(task.oracle),
    (task.ms / 1000).toFixed(1),
    faultOf(task) ?? 'ok',
  ]);
  console.log(formatTable(['task', 'untouched', 'solved', 'seconds', ''], rows));
  const faulty = checked.filter((task) => faultOf(task) !== undefined).length;
  console.log(
    faulty === 0
      ? `\nall ${checked.length} tasks are fit`
      : `\n${faulty} of ${checked.length} tasks are not fit`,
  );
  return faulty === 0 ? 0 : 1;
}

const shown = (outcome: Outcome | undefined): string =>
  typeof outcome === 'number' ? String(Number(outcome.toFixed(3))) : '-';

const shownAll = (outcomes: readonly Outcome[]): string => [...new Set(outcomes.map(shown))].join(', ');
