import { WordsErased } from '../../../shared/events/words-erased.ts';
import type { LogRewriter } from '../../../shared/log/sqlite/log-rewrite.ts';
import { rowWithout } from './erase-row.ts';
import { cleanFiles, type FoundFiles } from './files.ts';
import { type Plan, recordWithout } from './plan.ts';

type Order = {
  readonly by: string;
  readonly reason: string | undefined;
  /** RFC 3339 */
  readonly time: string;
};

/**
 * Erases what the plan found. Files first: they are searched by the words, which the log gives only while it has them. A
 * second run ends what a kill interrupted. Returns the event that says so; undefined: the log had no words left.
 */
export async function erase(
  log: LogRewriter,
  { selection, versions, probes }: Plan,
  files: FoundFiles,
  { by, reason, time }: Order,
): Promise<WordsErased | undefined> {
  await cleanFiles(files, probes);
  const fact = log.rewrite({
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
  log.compact();
  return fact as WordsErased | undefined;
}
