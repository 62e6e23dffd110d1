import { WordsErased } from '../../../shared/events/words-erased.ts';
import type { Rewriting } from '../../../shared/log/log-contents.ts';
import type { LogRewriter } from '../../../shared/log/sqlite/log-rewrite.ts';
import { rowWithout } from './erase-row.ts';
import { cleanFiles, type FoundFiles } from './files.ts';
import { type Plan, recordWithout } from './plan.ts';

export type Order = {
  readonly by: string;
  readonly reason: string | undefined;
  /** RFC 3339 */
  readonly time: string;
};

/** How the records and rows change, and the event that says so. The same on each kind of log. */
export const rewritingOf = ({ selection, versions }: Plan, { by, reason, time }: Order): Rewriting => ({
  record: (record) => recordWithout(record, selection, time),
  row: (row) => rowWithout(row, selection),
  fact: ({ chains, rows }) =>
    WordsErased.create({
      id: `erasure/${time}`,
      source: 'clawloop/cli',
      time,
      data: {
        ...selection.target,
        by,
        ...(reason === undefined ? {} : { reason }),
        turns: selection.turns.size,
        records: chains.reduce((sum, { records }) => sum + records, 0),
        rows,
        chains,
        versions: versions.map(({ adapter, version }) => ({ adapter, version })),
      },
    }),
});

/**
 * Erases what the plan found from the embedded log. Files first: they are searched by the words, which the log gives only
 * while it has them. A second run ends what a kill interrupted. Returns the event that says so; undefined: the log had no
 * words left.
 */
export async function erase(
  log: LogRewriter,
  plan: Plan,
  files: FoundFiles,
  order: Order,
): Promise<WordsErased | undefined> {
  await cleanFiles(files, plan.probes);
  const fact = log.rewrite(rewritingOf(plan, order));
  log.compact();
  return fact as WordsErased | undefined;
}
