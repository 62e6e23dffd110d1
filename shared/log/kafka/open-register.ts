import { doubling, pause, unlessAborted } from '../../lang/async.ts';
import { isLogError } from '../errors.ts';
import { openAppendQueue } from './append-queue.ts';
import { atMost } from './at-most.ts';
import type { KafkaConnection } from './connection.ts';
import { createTopics } from './create-topics.ts';
import type { TopicPlan } from './retention.ts';
import { openTopicReader } from './topic-reader.ts';

/** `value` null: the name has no value any more. */
type Entry = { readonly name: string; readonly value: string | null };

type RegisterOptions = {
  /** one partition, compacted */
  readonly plan: TopicPlan;
  /** Called for each entry, in order; after an outage, for all entries again. */
  readonly onEntry: (entry: Entry) => void;
};

type FollowRegisterOptions = {
  /** Called after entries were delivered; again if it rejects with LogUnavailable. */
  readonly onRound: () => Promise<void>;
  readonly onAway: (reason: string) => void;
  readonly onBack: () => void;
  readonly signal: AbortSignal;
};

/**
 * Small values by name, which every host learns within moments. Compaction removes an entry only after a later one of
 * the same name, so a reader that applies all entries in order knows the last value of each name.
 */
export type Register = {
  /** Delivers all entries that the topic has now. Not while `follow` runs, except in `onRound`. @throws LogUnavailable */
  readonly reachEnd: () => Promise<void>;
  /** Resolves once the entries are durable. @throws LogUnavailable */
  readonly put: (entries: readonly Entry[]) => Promise<void>;
  /** Delivers new entries through outages, until the signal aborts. */
  readonly follow: (options: FollowRegisterOptions) => Promise<void>;
  readonly close: () => Promise<void>;
};

/** ms that a fetch waits for new entries */
const WAIT_MS = 1_000;
const DURABLE_MS = 10_000;

/** Opens a register, and creates its topic if it is missing. @throws LogUnavailable, LogMismatch, LogRefused */
export async function openRegister(
  connection: KafkaConnection,
  { plan, onEntry }: RegisterOptions,
): Promise<Register> {
  const { topic } = plan;
  await createTopics(connection, [plan]);
  const reader = openTopicReader(connection.kafka);
  const queue = openAppendQueue(connection.kafka);
  let next = 0;

  /** Resolves to whether there was an entry. */
  const step = async (waitMs: number): Promise<boolean> => {
    const [fetched] = await reader.fetch(topic, new Map([[0, next]]), { waitMs });
    for (const { key, value } of fetched?.records ?? [])
      if (key !== null) onEntry({ name: key.toString('utf8'), value: value?.toString('utf8') ?? null });
    next = fetched?.next ?? next;
    return (fetched?.records.length ?? 0) > 0;
  };
  const restart = async (): Promise<void> => {
    next = (await reader.offsets(topic, 'start'))[0] ?? 0;
  };

  const run = async ({ onRound, onAway, onBack, signal }: FollowRegisterOptions): Promise<void> => {
    let waits = doubling(50, 1_000);
    let isNew = false;
    let isBroken = false;
    while (!signal.aborted) {
      try {
        // the topic may be another one since then; it is small, and its entries may be applied again
        if (isBroken) await restart();
        isBroken = false;
        isNew = (await step(WAIT_MS)) || isNew;
        if (isNew) await onRound();
        isNew = false;
        onBack();
        waits = doubling(50, 1_000);
      } catch (error) {
        if (signal.aborted) return;
        if (!isLogError(error, 'LogUnavailable')) throw error;
        isBroken = true;
        onAway(error.message);
        await pause(waits.next().value, signal);
      }
    }
  };

  return {
    reachEnd: async () => {
      const [end = 0] = await reader.offsets(topic, 'end');
      if (next > end) await restart();
      while (next < end) await step(100);
    },
    put: (entries) =>
      queue.append(
        entries.map(({ name, value }) => ({
          topic,
          message: { key: name, value: value === null ? null : Buffer.from(value), partition: 0 },
          bytes: name.length + (value?.length ?? 0),
        })),
        DURABLE_MS,
      ),
    // Do not wait for a pending fetch.
    follow: (options) => unlessAborted(run(options), options.signal, () => {}),
    close: async () => void (await atMost(1_000, Promise.all([queue.close(), reader.close()]))),
  };
}
