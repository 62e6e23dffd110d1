import type { ClawLoopEvent } from '../../events/catalogue.ts';
import type { Topic } from '../../events/define-event.ts';
import type { Recorded } from '../../log/event-log.ts';
import type { ReadUpTo } from '../../log/snapshots/read-so-far.ts';
import type { ReadPartition } from '../../log/snapshots/snapshot-text.ts';
import { packPlace } from '../place.ts';
import { type EarlyRecords, recordTurns } from '../record-turns.ts';
import { TurnTracker } from '../turn-tracker.ts';
import { type IndexFile, storedText } from './index-file.ts';
import { type Besides, openIndexRows } from './index-rows.ts';
import { type Known, VERSION } from './known-rows.ts';
import { turnColumns } from './stored-turn.ts';

/** For `together`: a commit takes a fraction of a second, and a read that is broken off loses little. */
const TOGETHER = 10_000;
/** Turns that one commit removes. */
const REMOVED_TOGETHER = 2_000;
/** Events of `training` that change neither the head nor a batch, also none that waits to train again. */
const isMinor = (event: ClawLoopEvent): boolean =>
  /^(?:sample|wish|verdict)\./.test(event.type) &&
  (event.type !== 'sample.dropped' || event.data.returned === undefined);

type Options = {
  readonly file: IndexFile;
  readonly logId: string;
  readonly known: Known;
  readonly besides: Besides;
  /** records of one transaction */
  readonly together?: number | undefined;
  /** Called with the id of each turn that has another record, or is removed. */
  readonly changed?: (turnId: string) => void;
};

const unread: ReadPartition = { from: 0, to: 0, last: null };

/** Changes the rows as the records say, and commits them with the offsets. */
export function openKeeper({ file, logId, known, besides, together = TOGETHER, changed }: Options) {
  const note = changed ?? (() => {});
  const index = openIndexRows(file.db, besides);
  const early: EarlyRecords = new Map(known.early);
  const views = new TurnTracker(index.parts, { keepsTexts: false, changed: note, from: known.others });
  const { rows, batches, sessions } = index;
  const record = recordTurns({ rows, batches, sessions, early, views, changed: note });
  const read = new Map(Object.entries(known.read).map(([topic, partitions]) => [topic, [...partitions]]));
  const put = file.db.prepare('INSERT OR REPLACE INTO state (name, data, sum) VALUES (?, ?, ?)');
  let [since, isNew, hasTraining, hasEarly] = [0, known.isNew, false, known.early.length > 0];

  const save = (name: string, value: unknown): void => {
    const { data, sum } = storedText(value);
    put.run(name, data, sum);
  };
  /** @param remove changes rows after all others were written */
  const commit = (remove = () => {}): void => {
    file.commit(() => {
      index.flush();
      remove();
      besides.flush();
      save('read', { version: VERSION, logId, read: Object.fromEntries(read) });
      if (isNew || hasEarly) save('early', [...early]);
      if (isNew || hasTraining) {
        const [batches, returned] = [views.openBatches(), views.returned()];
        save('others', { batches, returned, heads: views.heads() });
      }
    });
    index.trim();
    [since, isNew, hasTraining] = [0, false, false];
    hasEarly = early.size > 0;
  };
  /** A record that was read before changes nothing, nor one that was trimmed after it was fetched. */
  const on = (recorded: Recorded, topic: Topic): void => {
    const { at, event } = recorded;
    const partitions = read.get(topic)!;
    const partition = partitions[at.partition] ?? unread;
    if (at.offset < partition.to) return;
    record(recorded, topic);
    partitions[at.partition] = { ...partition, to: at.offset + 1, last: event.id };
    if (topic === 'training' && !isMinor(event)) hasTraining = true;
    hasEarly ||= early.size > 0;
    since += 1;
    if (since >= together) commit();
  };

  /** Removes some of the turns whose answers are before `start`, and their ended sessions. False: there were none. */
  const removeSome = (partition: number, start: number): boolean => {
    const first = packPlace({ topic: 'conversations', partition, offset: 0 });
    const end = packPlace({ topic: 'conversations', partition, offset: start });
    const select = file.db.prepare(
      `SELECT ${turnColumns} FROM turns WHERE at >= ? AND at < ? ORDER BY at LIMIT ?`,
    );
    commit();
    const gone = select.all(first, end, REMOVED_TOGETHER);
    if (gone.length === 0) return false;
    commit(() => {
      for (const turn of gone) {
        index.removeTurn(turn);
        note(String(turn.id));
      }
      for (const name of new Set(gone.map(({ session }) => String(session)))) index.removeEmptySession(name);
    });
    return true;
  };
  /** Removes what a trimmed log no longer holds. What is known of kept turns stays. @returns the number of commits */
  async function forget(starts: ReadUpTo): Promise<number> {
    let commits = 0;
    for (const [partition, start] of (starts.conversations ?? []).entries())
      while (start > (read.get('conversations')![partition]?.from ?? 0) && removeSome(partition, start)) {
        commits += 1;
        // other work goes on between two commits
        await new Promise(setImmediate);
      }
    let isNewStart = false;
    for (const [topic, partitions] of read)
      for (const [partition, { from, to, last }] of partitions.entries()) {
        const start = starts[topic as Topic]?.[partition] ?? from;
        if (start <= from) continue;
        partitions[partition] = { from: start, to: Math.max(start, to), last: start < to ? last : null };
        isNewStart = true;
      }
    if (isNewStart) commit(besides.finishRemoval);
    return commits;
  }
  return {
    on,
    forget,
    /** By topic, the offset up to which each partition was read. */
    upTo: (): ReadUpTo =>
      Object.fromEntries([...read].map(([topic, partitions]) => [topic, partitions.map(({ to }) => to)])),
    /** Stores what is new. */
    finish: (): void => {
      if (since > 0 || isNew) commit();
    },
    /** The row of a turn, without a change. */
    session: sessions.get,
  };
}
