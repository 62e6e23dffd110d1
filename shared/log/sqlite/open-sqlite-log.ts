import { mkdir } from 'node:fs/promises';
import type { ClawLoopEvent } from '../../events/catalogue.ts';
import type { Topic } from '../../events/define-event.ts';
import type { Position } from '../../events/position.ts';
import { logError } from '../errors.ts';
import type { CommittedPartition, EventLog } from '../event-log.ts';
import { eventAt, openState, viewsOf } from '../fold-chunk.ts';
import { followWithin, type LostRecords, type RejectedRecord, type TrimmedRecords } from '../following.ts';
import { createLifetime } from '../log-lifetime.ts';
import { createTroubles } from '../troubles.ts';
import { sqliteFileIn } from './database.ts';
import { followTopic } from './follow-topic.ts';
import { processGroup } from './process-group.ts';
import { parsedRows } from './process-partition.ts';
import { columnsOf, graceMs, monotonicMs } from './protocol.ts';
import { recordOf } from './record-of.ts';
import { openRetention } from './retention.ts';
import { openStore, type Store } from './store.ts';
import { verifyTopic } from './verify-topic.ts';

export type SqliteLogOptions = {
  /** Created if missing. Must be on a local disk: SQLite's locks do not work over a network. */
  readonly folder: string;
  /** Fixed when the log is created (default 3); later only checked, if given. */
  readonly partitions?: number;
  /** ms after which an unresponsive member loses its partitions; default 6,000. */
  readonly sessionTimeoutMs?: number;
  /** ms after which an append that is not durable times out; default 5,000. */
  readonly deliveryTimeoutMs?: number;
  /** Largest event that `append` accepts, bytes of JSON; default 16 MB. Events from a fold may be larger. */
  readonly maxRecordBytes?: number;
  /** Called for each unparsable record, by every reader that meets it: to be counted and logged. */
  readonly onRejected?: (rejected: RejectedRecord) => void;
  /** Called on opening for each partition whose last records are lost: to be logged. */
  readonly onLost?: (lost: LostRecords) => void;
  /** Called when a group skips lost records: to be logged. */
  readonly onTrimmed?: (trimmed: TrimmedRecords) => void;
  /**
   * For tests: URL of a module whose `onStep(step)` is called in the database's thread at every step of a
   * transaction: begun, fenced, rows, records, written, committed.
   */
  readonly stepsModule?: string;
};

/**
 * The log on one machine: a SQLite file in `folder`, shared by any number of processes. Throws LogMismatch,
 * NewerSchema, LogUnavailable.
 */
export async function openSqliteLog({
  folder,
  partitions,
  sessionTimeoutMs = 6_000,
  deliveryTimeoutMs = 5_000,
  maxRecordBytes = 16 * 2 ** 20,
  onRejected = () => undefined,
  onTrimmed = () => undefined,
  onLost = () => undefined,
  stepsModule,
}: SqliteLogOptions): Promise<EventLog> {
  await mkdir(folder, { recursive: true });
  const file = sqliteFileIn(folder);
  const store = await openStore({ file, folder, partitions, sessionTimeoutMs, stepsModule });
  for (const lost of store.lost) onLost(lost);
  const lifetime = createLifetime();
  const troubles = createTroubles();

  return {
    logId: store.logId,

    append: async (events) => {
      lifetime.requireOpen();
      if (events.length === 0) return;
      const records = events.map((event) => recordOf(event, store.partitions));
      // Cheap check first: a UTF-16 code unit takes at most 3 bytes.
      const large = records.findIndex(
        ({ body }) => body.length * 3 > maxRecordBytes && Buffer.byteLength(body) > maxRecordBytes,
      );
      if (large >= 0)
        throw logError('RecordTooLarge', `${events[large]!.id} is larger than ${maxRecordBytes} bytes`);
      const deadline = monotonicMs() + deliveryTimeoutMs;
      await lifetime.track(
        store.call('append', { records: columnsOf(records), deadline }, deliveryTimeoutMs + graceMs),
      );
    },

    process: async (fold, options, signal) => {
      lifetime.requireOpen();
      const processing = { store, troubles, fold, options, deliveryTimeoutMs, onRejected, onTrimmed };
      await lifetime.track(processGroup(processing, lifetime.orClosed(signal)));
    },

    follow: followWithin(lifetime, onRejected, (options) => followTopic(store, options)),

    read: (topic, at) => readEvent(store, topic, at),

    ends: (topic) => store.call('ends', { topic }),
    starts: (topic) => store.call('starts', { topic }),
    retention: openRetention(store, deliveryTimeoutMs),
    hasDenseOffsets: true,
    lag: (group) => store.call('lag', { group }),
    troubles: troubles.of,
    stretches: (group) => store.call('stretches', { group }),
    committed: (group) => readCommitted(store, group),

    // Positions and records are in one file, and no offset is used twice.
    repair: () => Promise.resolve([]),

    verify: (topic, noted = [], trims = []) => verifyTopic(store, topic, noted, trims),

    close: async () => {
      await lifetime.close();
      await store.close();
    },
  };
}

async function readCommitted(store: Store, group: string): Promise<readonly CommittedPartition[]> {
  const partitions = await store.call('committed', { group });
  return partitions.map(({ rows, ...place }) => ({
    ...place,
    subjects: viewsOf(openState(place.partition, parsedRows(rows))),
  }));
}

async function readEvent(store: Store, topic: Topic, at: Position): Promise<ClawLoopEvent> {
  const [record] = await store.call('read', { topic, positions: [at] });
  const name = `${topic}/${at.partition}/${at.offset}`;
  if (record === null || record === undefined) throw logError('RecordGone', `there is no record ${name}`);
  if (record.damage !== undefined) throw logError('BrokenRecord', `${name} ${record.damage}`);
  return eventAt(topic, at, record.body);
}
