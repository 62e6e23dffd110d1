import type { Kafka, Producer } from 'kafkajs';
import { doubling, pause, withDeadline } from '../../lang/async.ts';
import { isLogError, logError } from '../errors.ts';
import { errorType, unavailable } from './kafka-errors.ts';
import { Partitioners } from './kafkajs.ts';
import { asBatch, intoSends, type OutgoingRecord } from './messages.ts';

type Job = {
  readonly records: readonly OutgoingRecord[];
  /** The caller has its result: durable, or timed out. */
  isSettled: boolean;
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
};

export type AppendQueue = {
  /** Resolves when all records are durable. Throws LogUnavailable after `timeoutMs`, RecordTooLarge. */
  readonly append: (records: readonly OutgoingRecord[], timeoutMs: number) => Promise<void>;
  readonly close: () => Promise<void>;
};

/** Limits of one send, in records and bytes. */
const maxMerged = 2_000;
const mergedBytes = 4 * 2 ** 20;

/** After these errors the broker no longer knows the producer, or treats its next batch as out of order. */
const outOfStep: ReadonlySet<string> = new Set([
  'OUT_OF_ORDER_SEQUENCE_NUMBER',
  'UNKNOWN_PRODUCER_ID',
  'INVALID_PRODUCER_EPOCH',
  'INVALID_PRODUCER_ID_MAPPING',
  'DUPLICATE_SEQUENCE_NUMBER',
]);

/**
 * An idempotent producer with one send in flight; records that arrive meanwhile are merged into the next send.
 * With several sends in flight kafkajs gives a waiting send the sequence number of a failed one, and the broker
 * drops its records as duplicates. A failed send is repeated unchanged on the same producer before any other:
 * if it did reach the broker, the broker recognises its sequence number.
 */
export function openAppendQueue(kafka: Kafka): AppendQueue {
  const waiting: Job[] = [];
  const sender = openSender(kafka);
  let running: Promise<void> | undefined;

  const sendJobs = async (jobs: readonly Job[]): Promise<void> => {
    const isWanted = () => jobs.some((job) => !job.isSettled);
    try {
      for (const records of intoSends(jobs.flatMap((job) => job.records)))
        await sender.send(records, isWanted);
      for (const job of jobs) job.resolve();
    } catch (error) {
      // Send the jobs one at a time to find which record is too large.
      if (jobs.length > 1 && isLogError(error, 'RecordTooLarge'))
        for (const job of jobs) await sendJobs([job]);
      else for (const job of jobs) job.reject(error as Error);
    }
  };

  const run = async (): Promise<void> => {
    // Appends of the same event-loop turn are sent together.
    await new Promise((resolve) => setImmediate(resolve));
    while (waiting.length > 0) {
      const jobs = takeMerged(waiting).filter((job) => !job.isSettled);
      if (jobs.length > 0) await sendJobs(jobs);
    }
    running = undefined;
  };

  return {
    append: (records, timeoutMs) => {
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      const job: Job = { records, isSettled: false, resolve, reject };
      waiting.push(job);
      running ??= run();
      const giveUp = () => {
        throw logError('LogUnavailable', `not durable within ${timeoutMs} ms`);
      };
      return withDeadline(promise, timeoutMs, giveUp).finally(() => {
        job.isSettled = true;
      });
    },
    close: async () => {
      sender.stop();
      await running;
      await sender.disconnect();
    },
  };
}

/** Removes and returns the jobs of the next send. */
function takeMerged(waiting: Job[]): Job[] {
  let records = 0;
  let bytes = 0;
  let count = 0;
  while (count < waiting.length && (count === 0 || (records < maxMerged && bytes < mergedBytes))) {
    const job = waiting[count++]!;
    records += job.records.length;
    for (const record of job.records) bytes += record.bytes;
  }
  return waiting.splice(0, count);
}

/** Sends batches, one at a time, on a producer that is connected on first use. */
function openSender(kafka: Kafka) {
  const stopping = new AbortController();
  let producer: Producer | undefined;

  const connected = async (): Promise<Producer> => {
    if (producer !== undefined) return producer;
    const connecting = kafka.producer({
      idempotent: true,
      maxInFlightRequests: 1,
      allowAutoTopicCreation: false,
      createPartitioner: Partitioners.DefaultPartitioner,
      retry: { initialRetryTime: 5, maxRetryTime: 500, retries: 5 },
    });
    try {
      await connecting.connect();
    } catch (error) {
      await connecting.disconnect().catch(() => undefined);
      throw error;
    }
    producer = connecting;
    return connecting;
  };

  /** The next send uses a new producer. */
  const disconnect = async (): Promise<void> => {
    const old = producer;
    producer = undefined;
    await old?.disconnect().catch(() => undefined);
  };

  /** Retries until the records are durable, the broker rejects them for good, or the sender stops. */
  const send = async (records: readonly OutgoingRecord[], isWanted: () => boolean): Promise<void> => {
    const batch = asBatch(records);
    for (const wait of doubling(20, 500)) {
      try {
        await (await connected()).sendBatch(batch);
        return;
      } catch (error) {
        const failure = unavailable('appending', error);
        if (stopping.signal.aborted) throw failure;
        if (isLogError(failure, 'RecordTooLarge')) {
          // Other partitions may have accepted their part, and the next send would reuse its sequence numbers.
          await disconnect();
          throw failure;
        }
        if (outOfStep.has(errorType(error))) await disconnect();
        // Every caller timed out. The next send needs a new producer, so that it cannot reuse this send's number.
        if (!isWanted()) {
          await disconnect();
          throw failure;
        }
        await pause(wait, stopping.signal);
      }
    }
  };

  return { send, disconnect, stop: () => stopping.abort() };
}
