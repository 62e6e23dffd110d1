import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { parseEvent } from '../../events/parse-event.ts';
import { logError } from '../errors.ts';
import type { EventLog } from '../event-log.ts';
import { newerSchema, openState, viewsOf } from '../fold-chunk.ts';
import type { LostRecords, RejectedRecord, TrimmedRecords } from '../following.ts';
import { followTopic } from './follow-topic.ts';
import { processGroup } from './process-group.ts';
import { parsedRows } from './process-partition.ts';
import { columnsOf, graceMs, monotonicMs } from './protocol.ts';
import { recordOf } from './record-of.ts';
import { openStore } from './store.ts';
import { verifyTopic } from './verify-topic.ts';

export type SqliteLogOptions = {
  /** Made if it is not there. Must be on a local disk: SQLite's locks do not work over a network. */
  readonly folder: string;
  /** Fixed when the log is made (3 unless told); later only checked, if given. */
  readonly partitions?: number;
  /** ms after which a member that shows no life loses its partitions; 6,000 unless told. */
  readonly sessionTimeoutMs?: number;
  /** ms after which an append that is not durable is given up; 5,000 unless told. */
  readonly deliveryTimeoutMs?: number;
  /** Largest event that `append` takes, bytes of JSON; 16 MB unless told. What a fold emits may be larger. */
  readonly maxRecordBytes?: number;
  /** Called for each record that cannot be parsed, by whoever meets it: to be counted and logged. */
  readonly onRejected?: (rejected: RejectedRecord) => void;
  /** Called at the start for each partition whose last records are lost: to be logged. */
  readonly onLost?: (lost: LostRecords) => void;
  /** Called where a group goes on behind records that are lost: to be logged. */
  readonly onTrimmed?: (trimmed: TrimmedRecords) => void;
  /**
   * For tests: address of a module whose `onStep(step)` is called in the database's thread at every step of a
   * transaction, one of begun, fenced, rows, records, written, committed.
   */
  readonly stepsModule?: string;
};

/**
 * The log of one machine: one SQLite file in `folder`, shared by any number of processes. Throws LogMismatch,
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
  const file = join(folder, 'log.sqlite');
  const store = await openStore({ file, folder, partitions, sessionTimeoutMs, stepsModule });
  for (const lost of store.lost) onLost(lost);
  const closing = new AbortController();
  const open = new Set<Promise<unknown>>();
  const untilOver = <Result>(promise: Promise<Result>): Promise<Result> => {
    open.add(promise);
    const over = () => void open.delete(promise);
    promise.then(over, over);
    return promise;
  };
  const orClosed = (signal: AbortSignal) => AbortSignal.any([signal, closing.signal]);
  const stillOpen = () => {
    if (closing.signal.aborted) throw logError('LogUnavailable', 'the log is closed');
  };

  return {
    logId: store.logId,

    append: async (events) => {
      stillOpen();
      if (events.length === 0) return;
      const records = events.map((event) => recordOf(event, store.partitions));
      for (const [index, { body }] of records.entries()) {
        // Cheap first: a character is 3 bytes at most.
        if (body.length * 3 > maxRecordBytes && Buffer.byteLength(body) > maxRecordBytes) {
          throw logError('RecordTooLarge', `${events[index]!.id} is larger than ${maxRecordBytes} bytes`);
        }
      }
      const deadline = monotonicMs() + deliveryTimeoutMs;
      await untilOver(
        store.call('append', { records: columnsOf(records), deadline }, deliveryTimeoutMs + graceMs),
      );
    },

    process: async (fold, options, signal) => {
      stillOpen();
      await untilOver(
        processGroup({ store, fold, options, deliveryTimeoutMs, onRejected, onTrimmed }, orClosed(signal)),
      );
    },

    follow: (topic, from, onRecord, signal, wants) => {
      stillOpen();
      const following = followTopic(store, {
        ...{ topic, from, onRecord, onRejected, wants },
        signal: orClosed(signal),
      });
      untilOver(following.done).catch(() => undefined);
      return following;
    },

    read: async (topic, at) => {
      const [record] = await store.call('read', { topic, positions: [at] });
      const name = `${topic}/${at.partition}/${at.offset}`;
      if (record === null || record === undefined) throw logError('RecordGone', `there is no record ${name}`);
      if (record.damage !== undefined) throw logError('BrokenRecord', `${name} ${record.damage}`);
      const parsed = parseEvent(record.body);
      if (parsed.kind === 'newer') throw logError('NewerSchema', newerSchema(topic, at, parsed));
      if (parsed.kind !== 'event') {
        const why = parsed.kind === 'broken' ? parsed.error : `unknown type ${parsed.type}`;
        throw logError('BrokenRecord', `${name} cannot be read: ${why}`);
      }
      return parsed.event;
    },

    ends: (topic) => store.call('ends', { topic }),
    starts: async () => Array(store.partitions).fill(0),
    hasDenseOffsets: true,
    lag: (group) => store.call('lag', { group }),
    troubles: () => [],
    stretches: (group) => store.call('stretches', { group }),
    committed: async (group) =>
      (await store.call('committed', { group })).map(({ rows, ...place }) => ({
        ...place,
        subjects: viewsOf(openState(place.partition, parsedRows(rows))),
      })),

    // positions and records are in one file, and no offset is used twice
    repair: () => Promise.resolve([]),

    verify: (topic, noted = []) => verifyTopic(store, topic, noted),

    close: async () => {
      closing.abort(logError('LogUnavailable', 'the log is closed'));
      await Promise.allSettled(open);
      await store.close();
    },
  };
}
