import { appendFile, readFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import type { CliConfig } from '../../../shared/config/cli.ts';
import type { EventLog } from '../../../shared/log/event-log.ts';
import { NotNow, UsageError } from '../../../shared/runtime/command-errors.ts';
import { makeParts, passes } from '../../../shared/runtime/make-folder.ts';
import { INTERRUPTED, stopOnSignals } from '../../../shared/runtime/stop-on-signals.ts';
import { writeDurably } from '../../../shared/runtime/write-durably.ts';
import { withLog } from '../../with-log.ts';
import { eventFile, eventFileName } from './tensorboard.ts';
import { collectRuns, figureTypes, type TrainingRun } from './training-figures.ts';
import { offlineRun, runFolder, runId } from './wandb.ts';

/** Options as typed. */
export type FigureFlags = {
  readonly style?: string | undefined;
  readonly into?: string | undefined;
  readonly follow?: boolean | undefined;
};

/** Path inside the folder, and content, of the file of a run. */
type RunFile = readonly [path: string, content: Uint8Array];
type Style = (run: TrainingRun, options: { readonly logId: string; readonly isComplete: boolean }) => RunFile;

const styles: Readonly<Record<string, Style>> = {
  tensorboard: (run) => [join(run.adapter, eventFileName(run)), eventFile(run)],
  wandb: (run, { logId, isComplete }) => {
    const id = runId(logId, run.adapter);
    return [join(runFolder(run, id), `run-${id}.wandb`), offlineRun(run, id, isComplete)];
  },
};

/**
 * Writes the figures of all training steps as files that TensorBoard or W&B reads: one run per adapter, one step
 * per batch. With `--follow` it adds the steps that come later.
 * @returns the exit code
 * @throws UsageError for invalid options or a folder that cannot be written
 */
export async function exportFigures(settings: CliConfig, flags: FigureFlags): Promise<number> {
  const { style, into, follow = false } = flags;
  if (style === undefined || styles[style] === undefined)
    throw new UsageError(
      `give --style, one of ${Object.keys(styles).join(', ')}${style === undefined ? '' : `, not '${style}'`}`,
    );
  if (into === undefined || into === '') throw new UsageError('give --into FOLDER, where the files go');
  const stop = new AbortController();
  const ignoreSignals = stopOnSignals(stop, 'clawloop: stopping; not waiting for more steps');
  const { adapters } = settings;
  try {
    return await withLog(settings, (log) => copyFigures(log, { style, into, follow, adapters, stop }));
  } finally {
    ignoreSignals();
  }
}

type Task = {
  readonly style: string;
  readonly into: string;
  readonly follow: boolean;
  /** undefined: all */
  readonly adapters?: readonly string[] | undefined;
  readonly stop: AbortController;
};

/** Resolves to the exit code when all steps are written, or when `stop` aborts. */
export async function copyFigures(log: EventLog, task: Task): Promise<number> {
  const { style, into, follow, adapters, stop } = task;
  const collected = collectRuns();
  let woken = Promise.withResolvers<void>();
  stop.signal.addEventListener('abort', () => woken.resolve());
  const following = log.follow(
    'training',
    {},
    ({ event }) => {
      if (collected.on(event)) woken.resolve();
    },
    {
      signal: stop.signal,
      wants: ({ type, subject }) => figureTypes.has(type) && (adapters?.includes(subject) ?? true),
    },
  );
  following.done.catch(() => stop.abort()); // the rejection surfaces where `done` is awaited
  const write = async (): Promise<readonly TrainingRun[]> => {
    const runs = collected.runs().filter(({ rows }) => rows.length > 0);
    const options = { logId: log.logId, isComplete: !follow };
    for (const run of runs) {
      const [path, content] = styles[style]!(run, options);
      await bringUpToDate(join(into, path), content);
    }
    return runs;
  };
  try {
    await Promise.race([following.caughtUp, following.done]);
    if (stop.signal.aborted) return INTERRUPTED;
    report(await write(), into);
    while (follow && !stop.signal.aborted) {
      await woken.promise;
      woken = Promise.withResolvers<void>();
      await write();
    }
    return 0;
  } finally {
    stop.abort();
    await following.done;
  }
}

/** Appends what is missing, so that a reader with the file open sees it; replaces a file with other content. */
async function bringUpToDate(path: string, content: Uint8Array): Promise<void> {
  try {
    const before = await readFile(path).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return undefined;
      throw error;
    });
    if (
      before !== undefined &&
      before.length <= content.length &&
      before.equals(content.subarray(0, before.length))
    ) {
      if (before.length < content.length)
        await appendFile(path, content.subarray(before.length), { flush: true });
      return;
    }
    await makeParts(resolve(dirname(path)));
    await writeDurably(path, content);
  } catch (error) {
    const why = `cannot write ${path}: ${(error as Error).message}`;
    throw passes(error as NodeJS.ErrnoException) ? new NotNow(why) : new UsageError(why);
  }
}

function report(runs: readonly TrainingRun[], into: string): void {
  if (runs.length === 0) console.error('no step has ended yet');
  for (const { adapter, rows } of runs)
    console.error(`${adapter}: ${rows.length} ${rows.length === 1 ? 'step' : 'steps'} in ${into}`);
}
