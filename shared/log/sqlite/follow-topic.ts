import type { Following, Heading, Wanted } from '../event-log.ts';
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
  const types = typeof wants === 'object' ? [...wants] : null;
  const skim = (partition: number, to: number) =>
    store.call('skim', { topic, partition, from: next[partition]!, to, types });
  /** Undefined: skip the record. */
  const wantedBody = async (partition: number, record: SkimmedRecord): Promise<string | undefined> => {
    const { offset, type, subject, body } = record;
    if (wants !== undefined && !isWanted(wants, { type, subject, at: { partition, offset } }))
      return undefined;
    if (body !== null) return body;
    const [found] = await store.call('read', { topic, positions: [{ partition, offset }] });
    return found?.body;
  };

  const pass = (partition: number, { offset, time }: Passed, body: string | undefined): void => {
    if (body !== undefined) deliver(options, { partition, offset }, { body, time });
    next[partition] = offset + 1;
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
        if (wants === undefined) {
          for (const record of await fetch(partition)) {
            if (signal.aborted) return;
            pass(partition, record, record.body);
          }
          continue;
        }
        const { records, next: after } = await skim(partition, ends[partition]!);
        for (const record of records) {
          const body = await wantedBody(partition, record);
          if (signal.aborted) return;
          pass(partition, record, body);
        }
        next[partition] = after;
      }
    }
  };

  return openFollowing(
    {
      partitions: store.partitions,
      ends: () => store.call('ends', { topic }),
      next: (partition) => next[partition]!,
      run: (progressed) => Promise.race([run(progressed), store.broken]),
    },
    signal,
  );
}

type Passed = Pick<SkimmedRecord, 'offset' | 'time'>;

/** A record on a damaged page has no type: it is wanted, so that it is reported. */
const isWanted = (wants: Wanted, heading: Heading): boolean =>
  typeof wants === 'function' ? wants(heading) : heading.type === '' || wants.has(heading.type);

const chunk = { maxRecords: 200, maxBytes: 4 * 2 ** 20 };
