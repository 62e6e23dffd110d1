import { z } from 'zod';
import { topics } from '../../events/define-event.ts';
import type { EventLog } from '../../log/event-log.ts';
import { heldStarts, type ReadUpTo } from '../../log/snapshots/read-so-far.ts';
import { type ReadPartition, readTopics } from '../../log/snapshots/snapshot-text.ts';
import { turnsState } from '../turns-state.ts';
import { type IndexFile, storedValue } from './index-file.ts';

/** Raise whenever the same records would give other rows or counts, or the tables change, also those of the console. */
export const VERSION = 3;

/** How far the log was read, and what the rows do not hold. */
const state = z.object({
  version: z.literal(VERSION),
  logId: z.string(),
  read: readTopics,
});
const others = z.object({
  batches: turnsState.shape.openBatches,
  returned: turnsState.shape.returned,
  heads: turnsState.shape.heads,
});
type Others = z.output<typeof others>;
type Early = z.output<typeof turnsState.shape.early>;

export type Known = {
  /** the file holds nothing yet */
  readonly isNew: boolean;
  readonly read: Readonly<Record<string, readonly ReadPartition[]>>;
  readonly others: Others;
  readonly early: Early;
};

/** The topics in the order of the loop. */
const topicsRead = topics.filter((topic) => topic !== 'dead-letters');

/** `starts`: the first offsets of the log. */
type Fitting = { readonly known: Known; readonly starts: ReadUpTo };

/** What the file holds of this log. A file of another log or version is cleared, also if the log lost what was read. */
export const knownRows = async (file: IndexFile, log: EventLog): Promise<Fitting> =>
  (await knownIn(file, log)) ?? { known: await begin(file, log), starts: {} };

async function knownIn({ db }: IndexFile, log: EventLog): Promise<Fitting | undefined> {
  if (db.prepare("SELECT 1 FROM sqlite_master WHERE name = 'state'").get() === undefined) return undefined;
  const rows = db.prepare('SELECT name, data, sum FROM state').all();
  const stateOf = (wanted: string) => {
    const found = rows.find(({ name }) => name === wanted);
    return found && storedValue(found);
  };
  const found = state.safeParse(stateOf('read'));
  const rest = others.safeParse(stateOf('others'));
  const early = turnsState.shape.early.safeParse(stateOf('early'));
  if (!found.success || !rest.success || !early.success) return undefined;
  const { logId, read } = found.data;
  const isWhole = topicsRead.every((topic) => read[topic] !== undefined);
  if (!isWhole || logId !== log.logId) return undefined;
  const starts = await heldStarts(log, read);
  const known = { isNew: false, read: read as Known['read'], others: rest.data, early: early.data };
  return starts && { known, starts };
}

/** Clears the file. */
export async function begin(file: IndexFile, log: EventLog): Promise<Known> {
  const starts = await Promise.all(
    topicsRead.map(async (topic) => {
      const offsets = await log.starts(topic);
      return [topic, offsets.map((from): ReadPartition => ({ from, to: from, last: null }))] as const;
    }),
  );
  file.clear();
  return { ...nothingKnown, read: Object.fromEntries(starts) };
}

/** Of a new file, for a log whose partitions are not known. */
export const nothingKnown: Known = {
  isNew: true,
  read: Object.fromEntries(topicsRead.map((topic) => [topic, []])),
  others: { batches: [], returned: [], heads: {} },
  early: [],
};
