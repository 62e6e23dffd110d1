import type { Following } from '../event-log.ts';
import { deliver, type FollowOptions, openFollowing } from '../following.ts';
import type { SkimmedRecord } from './protocol.ts';
import type { Store } from './store.ts';
import { nextEnds } from './wait.ts';

/** A reader without group or state, for one process. */
export function followTopic(store: Store, options: FollowOptions): Following {
  const { topic, from, wants, signal } = options;
  const next = Array.from({ length: store.partitions }, (_, partition) => from[partition] ?? 0);

  const fetch = (partition: number) =>
    store.call('fetch', { topic, partition, from: next[partition]!, ...chunk });
  const skim = (partition: number) =>
    store.call('skim', { topic, partition, from: next[partition]!, maxRecords: SKIMMED_RECORDS });
  /** Undefined: skip the record. */
  const wantedBody = async (partition: number, record: SkimmedRecord): Promise<string | undefined> => {
    const { offset, type, subject, body } = record;
    if (wants?.({ type, subject, at: { partition, offset } }) === false) return undefined;
    if (body !== null) return body;
    const [found] = await store.call('read', { topic, positions: [{ partition, offset }] });
    return found?.body;
  };

  const run = async (progressed: () => void): Promise<void> => {
    while (!signal.aborted) {
      const ends = store.ends(topic);
      const behind = next.flatMap((offset, partition) => (offset < ends[partition]! ? [partition] : []));
      progressed();
      if (behind.length === 0) {
        await nextEnds(
          store,
          () => store.ends(topic).some((end, partition) => end > next[partition]!),
          signal,
        );
        continue;
      }
      for (const partition of behind) {
        for (const record of await (wants === undefined ? fetch : skim)(partition)) {
          if (signal.aborted) return;
          const body = wants === undefined ? record.body! : await wantedBody(partition, record);
          next[partition] = record.offset + 1;
          if (body !== undefined)
            deliver(options, { partition, offset: record.offset }, { body, time: record.time });
        }
      }
    }
  };

  return openFollowing(
    {
      ends: () => store.call('ends', { topic }),
      next: (partition) => next[partition]!,
      run: (progressed) => Promise.race([run(progressed), store.broken]),
    },
    signal,
  );
}

const SKIMMED_RECORDS = 1_000;
const chunk = { maxRecords: 200, maxBytes: 4 * 2 ** 20 };
