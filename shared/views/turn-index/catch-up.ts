import { z } from 'zod';
import { type Topic, topics } from '../../events/define-event.ts';
import type { EventLog, Recorded } from '../../log/event-log.ts';
import { endsOfAll, readToEnd } from '../../log/read-topic.ts';
import { stillHolds } from '../../log/snapshots/read-so-far.ts';
import { type ReadPartition, readTopics } from '../../log/snapshots/snapshot-text.ts';
import { type EarlyRecords, recordTurns } from '../record-turns.ts';
import { TurnTracker } from '../turn-tracker.ts';
import { turnsState } from '../turns-state.ts';
import { type IndexFile, storedText, storedValue } from './index-file.ts';
import { openIndexRows } from './index-rows.ts';

/** Raise whenever the same records would give other rows (then also that of `storedTurns`), or the tables change. */
const VERSION = 1;

/** For `together`: a commit takes a fraction of a second, and a read that is broken off loses little. */
const TOGETHER = 10_000;

/** How far the log was read, and what the rows do not hold. */
const state = z.object({
  version: z.literal(VERSION),
  logId: z.string(),
  read: readTopics,
});
const others = z.object({
  batches: turnsState.shape.openBatches,
  heads: turnsState.shape.heads,
});
type Others = z.output<typeof others>;
type Early = z.output<typeof turnsState.shape.early>;

type Known = {
  /** the file holds nothing yet */
  readonly isNew: boolean;
  readonly read: Readonly<Record<string, readonly ReadPartition[]>>;
  readonly others: Others;
  readonly early: Early;
};

export type Reading = {
  readonly log: EventLog;
  /** records of one transaction */
  readonly together?: number;
};

/** Reads the records that the index does not hold yet, in transactions. An index of another log or version is cleared first. */
export async function catchUp(file: IndexFile, { log, together = TOGETHER }: Reading): Promise<void> {
  const ends = await endsOfAll(log);
  const known = (await knownIn(file, log)) ?? (await begin(file, log));
  const keeper = openKeeper({ file, logId: log.logId, known, together });
  for (const [topic, until] of Object.entries(ends) as [Topic, readonly number[]][])
    await readToEnd(log, topic, (record) => keeper.on(record, topic), {
      from: Object.fromEntries(known.read[topic]!.map(({ to }, partition) => [partition, to])),
      until,
    });
  keeper.finish();
}

/** Undefined: the file is new, of another log or version, or the log no longer holds what was read. */
async function knownIn({ db }: IndexFile, log: EventLog): Promise<Known | undefined> {
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
  if (!isWhole || logId !== log.logId || !(await stillHolds(log, read))) return undefined;
  return { isNew: false, read: read as Known['read'], others: rest.data, early: early.data };
}

/** The topics in the order of the loop. */
const topicsRead = topics.filter((topic) => topic !== 'dead-letters');

async function begin(file: IndexFile, log: EventLog): Promise<Known> {
  const starts = await Promise.all(
    topicsRead.map(async (topic) => {
      const offsets = await log.starts(topic);
      return [topic, offsets.map((from): ReadPartition => ({ from, to: from, last: null }))] as const;
    }),
  );
  file.clear();
  const nothing = { others: { batches: [], heads: {} }, early: [] };
  return { isNew: true, read: Object.fromEntries(starts), ...nothing };
}

type Keeper = {
  readonly file: IndexFile;
  readonly logId: string;
  readonly known: Known;
  readonly together: number;
};

/** Changes the rows as the records say, and commits them with the offsets. */
function openKeeper({ file, logId, known, together }: Keeper) {
  const index = openIndexRows(file.db);
  const early: EarlyRecords = new Map(known.early);
  const views = new TurnTracker(index.parts, { keepsTexts: false, changed: () => {}, from: known.others });
  const { rows, batches, sessions } = index;
  const record = recordTurns({ rows, batches, sessions, early, views });
  const read = new Map(Object.entries(known.read).map(([topic, partitions]) => [topic, [...partitions]]));
  const put = file.db.prepare('INSERT OR REPLACE INTO state (name, data, sum) VALUES (?, ?, ?)');
  let [since, isNew, hasTraining] = [0, known.isNew, false];

  const save = (name: string, value: unknown): void => {
    const { data, sum } = storedText(value);
    put.run(name, data, sum);
  };
  const commit = (): void => {
    file.commit(() => {
      index.flush();
      save('read', { version: VERSION, logId, read: Object.fromEntries(read) });
      save('early', [...early]);
      if (isNew || hasTraining) save('others', { batches: views.openBatches(), heads: views.heads() });
    });
    index.trim();
    [since, isNew, hasTraining] = [0, false, false];
  };
  const on = (recorded: Recorded, topic: Topic): void => {
    record(recorded, topic);
    const { at, event } = recorded;
    const partition = read.get(topic)![at.partition]!;
    read.get(topic)![at.partition] = { ...partition, to: at.offset + 1, last: event.id };
    if (topic === 'training') hasTraining = true;
    since += 1;
    if (since >= together) commit();
  };
  return {
    on,
    finish: (): void => {
      if (since > 0 || isNew) commit();
    },
  };
}
