import type { Following } from '../event-log.ts';
import { deliver, type FollowOptions, openFollowing } from '../following.ts';
import type { SkimmedRecord, StoredRecord } from './protocol.ts';
import type { Store } from './store.ts';
import { nextEnds } from './wait.ts';

/** A reader without group or state, for one process. */
export function followTopic(store: Store, options: FollowOptions): Following {
  const { topic, from, wants, signal } = options;
  const next = Array.from({ length: store.partitions }, (_, partition) => from[partition] ?? 0);

  const stopped = new Set<number>();

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
  /** False: the partition stops before this record. */
  const pass = (partition: number, { offset, time }: Passed, body: string | undefined): boolean => {
    const isPassed = body === undefined || deliver(options, { partition, offset }, { body, time });
    if (isPassed) next[partition] = offset + 1;
    else stopped.add(partition);
    return isPassed;
  };
  const passAll = (partition: number, records: readonly StoredRecord[]): boolean => {
    for (const record of records) if (signal.aborted || !pass(partition, record, record.body)) return false;
    return true;
  };

  const readAll = async (partition: number): Promise<void> => void passAll(partition, await fetch(partition));
  const readOfTypes = async (partition: number, types: readonly string[]): Promise<void> => {
    const to = store.ends(topic)[partition]!;
    const { records, next: after } = await store.call('select', {
      topic,
      partition,
      from: next[partition]!,
      to,
      types,
    });
    if (passAll(partition, records) && !signal.aborted) next[partition] = after;
  };
  const readChosen = async (partition: number): Promise<void> => {
    for (const record of await skim(partition)) {
      const body = await wantedBody(partition, record);
      if (signal.aborted || !pass(partition, record, body)) return;
    }
  };
  const readSome = (partition: number): Promise<void> => {
    if (wants === undefined) return readAll(partition);
    return typeof wants === 'function' ? readChosen(partition) : readOfTypes(partition, [...wants]);
  };

  const run = async (progressed: () => void): Promise<void> => {
    while (!signal.aborted) {
      const ends = store.ends(topic);
      const isBehind = (offset: number, partition: number) =>
        !stopped.has(partition) && offset < ends[partition]!;
      const behind = next.flatMap((offset, partition) => (isBehind(offset, partition) ? [partition] : []));
      progressed();
      if (behind.length === 0) {
        await nextEnds(
          store,
          () => store.ends(topic).some((end, partition) => !stopped.has(partition) && end > next[partition]!),
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
      hasStopped: (partition) => stopped.has(partition),
      run: (progressed) => Promise.race([run(progressed), store.broken]),
    },
    signal,
  );
}

type Passed = Pick<SkimmedRecord, 'offset' | 'time'>;

const SKIMMED_RECORDS = 1_000;
const chunk = { maxRecords: 200, maxBytes: 4 * 2 ** 20 };
