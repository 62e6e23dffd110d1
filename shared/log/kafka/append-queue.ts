import type { Kafka, Producer } from 'kafkajs';
import { isLogError, logError } from '../errors.ts';
import { pause } from '../pause.ts';
import { errorType, unavailable } from './kafka-errors.ts';
import { Partitioners } from './kafkajs.ts';
import { asBatch, intoSends, type OutgoingRecord } from './messages.ts';

type Job = {
  readonly records: readonly OutgoingRecord[];
  /** Over for its caller: durable, or given up. */
  isSettled: boolean;
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
};

export type AppendQueue = {
  /** Resolves when all of it is durable. Throws LogUnavailable after `timeoutMs`, RecordTooLarge. */
  readonly append: (records: readonly OutgoingRecord[], timeoutMs: number) => Promise<void>;
  readonly close: () => Promise<void>;
};

/** Records that go out together at most. */
const maxMerged = 2_000;
const mergedBytes = 4 * 2 ** 20;

/** After these the broker knows the producer no more, or takes its next batch for one out of order. */
const outOfStep: ReadonlySet<string> = new Set([
  'OUT_OF_ORDER_SEQUENCE_NUMBER',
  'UNKNOWN_PRODUCER_ID',
  'INVALID_PRODUCER_EPOCH',
  'INVALID_PRODUCER_ID_MAPPING',
  'DUPLICATE_SEQUENCE_NUMBER',
]);

/**
 * One idempotent producer with one send in flight; what comes meanwhile is merged into the next. With several
 * in flight kafkajs gives a waiting send the sequence number of one that failed, and the broker drops the
 * records as copies. A send that fails is sent again, the same on the same producer, before anything else: if
 * it had come through, the broker knows it by its number.
 */
export function openAppendQueue(kafka: Kafka): AppendQueue {
  const waiting: Job[] = [];
  const closing = new AbortController();
  let producer: Producer | undefined;
  let running: Promise<void> | undefined;

  const connected = async (): Promise<Producer> => {
    if (producer !== undefined) return producer;
    const made = kafka.producer({
      idempotent: true,
      maxInFlightRequests: 1,
      allowAutoTopicCreation: false,
      createPartitioner: Partitioners.DefaultPartitioner,
      retry: { initialRetryTime: 5, maxRetryTime: 500, retries: 5 },
    });
    try {
      await made.connect();
    } catch (error) {
      await made.disconnect().catch(() => undefined);
      throw error;
    }
    producer = made;
    return made;
  };

  const renew = async (): Promise<void> => {
    const old = producer;
    producer = undefined;
    await old?.disconnect().catch(() => undefined);
  };

  /** Until it is durable, or refused for good, or the queue is closed. */
  const send = async (records: readonly OutgoingRecord[], isWanted: () => boolean): Promise<void> => {
    const batch = asBatch(records);
    for (let delayMs = 20; ; delayMs = Math.min(2 * delayMs, 500)) {
      try {
        await (await connected()).sendBatch(batch);
        return;
      } catch (error) {
        const failure = unavailable('appending', error);
        if (closing.signal.aborted) throw failure;
        if (isLogError(failure, 'RecordTooLarge')) {
          // Other partitions may have taken their part, and the next send would bear its numbers.
          await renew();
          throw failure;
        }
        if (outOfStep.has(errorType(error))) await renew();
        // Nobody waits for it, and no send that follows may take its number: a producer of its own for those.
        if (!isWanted()) {
          await renew();
          throw failure;
        }
        await pause(delayMs, closing.signal);
      }
    }
  };

  const takeMerged = (): Job[] => {
    let records = 0;
    let bytes = 0;
    let count = 0;
    while (count < waiting.length && (count === 0 || (records < maxMerged && bytes < mergedBytes))) {
      const job = waiting[count++]!;
      records += job.records.length;
      for (const record of job.records) bytes += record.bytes;
    }
    return waiting.splice(0, count);
  };

  const sendJobs = async (jobs: readonly Job[]): Promise<void> => {
    const isWanted = () => jobs.some((job) => !job.isSettled);
    try {
      for (const records of intoSends(jobs.flatMap((job) => job.records))) await send(records, isWanted);
      for (const job of jobs) job.resolve();
    } catch (error) {
      // Which of them is too large is found by sending them one by one.
      if (jobs.length > 1 && isLogError(error, 'RecordTooLarge'))
        for (const job of jobs) await sendJobs([job]);
      else for (const job of jobs) job.reject(error as Error);
    }
  };

  const run = async (): Promise<void> => {
    // What is appended in the same turn goes out together.
    await new Promise((resolve) => setImmediate(resolve));
    while (waiting.length > 0) {
      const jobs = takeMerged().filter((job) => !job.isSettled);
      if (jobs.length > 0) await sendJobs(jobs);
    }
    running = undefined;
  };

  return {
    append: (records, timeoutMs) =>
      new Promise((resolve, reject) => {
        const settle = (how: () => void) => {
          if (job.isSettled) return;
          job.isSettled = true;
          clearTimeout(timer);
          how();
        };
        const job: Job = {
          records,
          isSettled: false,
          resolve: () => settle(resolve),
          reject: (error) => settle(() => reject(error)),
        };
        const giveUp = () => job.reject(logError('LogUnavailable', `not durable within ${timeoutMs} ms`));
        const timer = setTimeout(giveUp, timeoutMs);
        waiting.push(job);
        running ??= run();
      }),
    close: async () => {
      closing.abort();
      await running;
      await renew();
    },
  };
}
