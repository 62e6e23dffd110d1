import type { Following } from '../event-log.ts';
import { deliver, type FollowOptions, openFollowing } from '../following.ts';
import type { Store } from './store.ts';
import { nextEnds } from './wait.ts';

/** A reader of its own, without group or state: what a process sees of a topic in its memory. */
export function followTopic(store: Store, options: FollowOptions): Following {
  const { topic, from, signal } = options;
  const next = Array.from({ length: store.partitions }, (_, partition) => from[partition] ?? 0);

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
        const records = await store.call('fetch', { topic, partition, from: next[partition]!, ...chunk });
        for (const { offset, body } of records) {
          if (signal.aborted) return;
          next[partition] = offset + 1;
          deliver(options, { partition, offset }, body);
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

const chunk = { maxRecords: 200, maxBytes: 4 * 2 ** 20 };
