import { hash } from 'node:crypto';
import { appendFileSync, existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { z } from 'zod';
import { UsageError } from '../../shared/runtime/command-errors.ts';
import { isRepeated } from './failures.ts';
import type { Task } from './read-tasks.ts';
import { resultLine } from './result-line.ts';
import type { Settled } from './run-rollout.ts';

/** The fields of a result line that a resumed rollout needs. */
const Line = z.looseObject({
  index: z.int(),
  attempt: z.int(),
  outcome: z.string(),
  reward: z.number().nullable(),
  session: z.string().nullable(),
});
type Line = z.output<typeof Line>;

const Entry = z.union([
  z.object({ plan: z.string() }),
  z.object({ opened: z.string() }),
  /** all advantages of a task are sent; its sessions end next */
  z.object({ ending: z.int(), lines: z.array(Line) }),
]);
type Entry = z.output<typeof Entry>;

/** The state of a rollout that ended early. */
export type Left = {
  /** sessions that no finished task needs */
  readonly toDiscard: readonly string[];
  /** sessions whose rewards and advantages are sent, but whose end may not be */
  readonly toEnd: readonly string[];
  /** indices of the tasks that need no more work */
  readonly finished: ReadonlySet<number>;
  /** finished tasks whose attempts got different rewards */
  readonly informative: number;
};

/**
 * Records the progress of a rollout beside its results file, so that `--resume` can continue it after a kill: nothing
 * is rewarded twice, and no session stays open. It survives the end of the process, not a power cut.
 */
export type Journal = {
  readonly opened: (session: string) => void;
  /** Call this when all advantages of a task are sent, before its sessions end. */
  readonly ending: (index: number, settled: readonly Settled[]) => void;
  /** The rollout is complete: there is nothing to resume. */
  readonly remove: () => void;
};

const pathOf = (results: string): string => `${results}.journal`;

const planOf = (tasks: readonly Task[], n: number): string => hash('sha256', JSON.stringify([tasks, n]));

/** Begins a journal beside the results at `path`; without a path there is none. */
export function openJournal(path: string | undefined, tasks: readonly Task[], n: number): Journal {
  if (path === undefined) return { opened: () => {}, ending: () => {}, remove: () => {} };
  const journal = pathOf(path);
  const note = (entry: Entry): void => appendFileSync(journal, `${JSON.stringify(entry)}\n`);
  if (existsSync(journal)) endLastLine(journal);
  else note({ plan: planOf(tasks, n) });
  return {
    opened: (session) => note({ opened: session }),
    ending: (index, settled) =>
      note({ ending: index, lines: settled.map((one) => Line.parse(JSON.parse(resultLine(one)))) }),
    remove: () => rmSync(journal, { force: true }),
  };
}

/** A killed process may have left half a line: the next entry must not continue it. */
function endLastLine(path: string): void {
  if (!readFileSync(path, 'utf8').endsWith('\n')) appendFileSync(path, '\n');
}

/**
 * Reads the state of a rollout, and removes the lines of unfinished tasks from its results.
 *
 * @throws UsageError when there is no journal, or it is about other tasks
 */
export function resumeFrom(path: string, tasks: readonly Task[], n: number): Left {
  const entries = linesOf(pathOf(path)).map((line) => Entry.parse(line));
  if (entries.length === 0)
    throw new UsageError(`${path} has no journal: its rollout is complete, or never began`);
  if (!entries.some((entry) => 'plan' in entry && entry.plan === planOf(tasks, n)))
    throw new UsageError(`${path} is the result of other tasks, or of another --n`);
  const ending = new Map(
    entries.flatMap((entry) =>
      'ending' in entry && entry.lines.some(isRewarded) ? [[entry.ending, entry.lines]] : [],
    ),
  );
  const written = Map.groupBy(
    linesOf(path).map((line) => Line.parse(line)),
    ({ index }) => index,
  );
  const complete = [...written].filter(
    ([, lines]) => lines.length === n && !lines.some(({ outcome }) => isRepeated(outcome)),
  );
  const finished = new Map([...complete, ...ending]);
  const text = [...finished.values()].flat().map((line) => `${JSON.stringify(line)}\n`);
  writeFileSync(`${path}.new`, text.join(''));
  renameSync(`${path}.new`, path);
  const toEnd = [...ending.values()]
    .flat()
    .flatMap((line) => (line.session !== null && isRewarded(line) ? [line.session] : []));
  const kept = new Set([...finished.values()].flat().map(({ session }) => session));
  return {
    toEnd,
    toDiscard: entries.flatMap((entry) =>
      'opened' in entry && !kept.has(entry.opened) ? [entry.opened] : [],
    ),
    finished: new Set(finished.keys()),
    informative: [...finished.values()].filter(differ).length,
  };
}

const isRewarded = ({ outcome }: Line): boolean => outcome === 'rewarded';

const differ = (lines: readonly Line[]): boolean =>
  new Set(lines.flatMap(({ reward }) => (reward === null ? [] : [reward]))).size > 1;

/** The lines of a file of JSON. The last one may be torn, if its process was killed. */
function linesOf(path: string): readonly unknown[] {
  if (!existsSync(path)) return [];
  return readFileSync(path, 'utf8')
    .split('\n')
    .flatMap((line) => {
      try {
        return line === '' ? [] : [JSON.parse(line) as unknown];
      } catch {
        return [];
      }
    });
}
