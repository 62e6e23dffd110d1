import type { Following } from '../event-log.ts';
import { deliver, type FollowOptions, openFollowing } from '../following.ts';
import type { SkimmedRecord, StoredRecord } from './protocol.ts';
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
    if (typeof wants === 'function' && !wants({ type, subject, at: { partition, offset } })) return undefined;
    if (body !== null) return body;
    const [found] = await store.call('read', { topic, positions: [{ partition, offset }] });
    return found?.body;
  };
  const pass = (partition: number, { offset, time }: Passed, body: string | undefined): void => {
    if (body !== undefined) deliver(options, { partition, offset }, { body, time });
    next[partition] = offset + 1;
  };
  const passAll = (partition: number, records: readonly StoredRecord[]): void => {
    for (const record of records) {
      if (signal.aborted) return;
      pass(partition, record, record.body);
    }
  };

  const readAll = async (partition: number): Promise<void> => passAll(partition, await fetch(partition));
  const readOfTypes = async (partition: number, types: readonly string[]): Promise<void> => {
    const to = store.ends(topic)[partition]!;
    const { records, next: after } = await store.call('select', {
      topic,
      partition,
      from: next[partition]!,
      to,
      types,
    });
    passAll(partition, records);
    if (!signal.aborted) next[partition] = after;
  };
  const readChosen = async (partition: number): Promise<void> => {
    for (const record of await skim(partition)) {
      const body = await wantedBody(partition, record);
      if (signal.aborted) return;
      pass(partition, record, body);
    }
  };
  const readSome = (partition: number): Promise<void> => {
    if (wants === undefined) return readAll(partition);
    return typeof wants === 'function' ? readChosen(partition) : readOfTypes(partition, [...wants]);
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
        await readSome(partition);
        if (signal.aborted) return;
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

const SKIMMED_RECORDS = 1_000;
const chunk = { maxRecords: 200, maxBytes: 4 * 2 ** 20 };
