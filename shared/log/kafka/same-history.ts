import { isThere, recordsLost } from './find-loss.ts';
import type { RawMessage } from './kafkajs-internals.ts';
import { chainedRecord } from './messages.ts';
import { pointOf, type ReadPoint } from './read-so-far.ts';
import type { FetchedPartition, TopicReader } from './topic-reader.ts';

/** The last record that a reader saw in one partition, and its leader epoch. */
type Seen = { readonly epoch: number; readonly last: ReadPoint | undefined };

/**
 * Detects lost records after a change of leader. Each batch has the epoch of its leader: at the first batch of a
 * new leader, the record that was read last must still be there. Otherwise the cluster lost records, and new
 * records have their offsets.
 */
export function watchHistory(reader: Pick<TopicReader, 'fetch'>, name: string) {
  const seen = new Map<number, Seen>();
  return {
    /** @throws RecordsLost, LogUnavailable */
    check: async ({ partition, records }: FetchedPartition): Promise<void> => {
      const newest = records.at(-1);
      if (newest === undefined) return;
      const before = seen.get(partition);
      const epoch = epochOf(newest);
      if (before?.last !== undefined && epoch > before.epoch) {
        if (!(await isThere(reader, { name, partition }, before.last)))
          throw recordsLost(name, partition, `holds another record at ${before.last[0]} than was read there`);
      }
      seen.set(partition, { epoch, last: pointOf(chainedRecord(newest)) });
    },
  };
}

const epochOf = ({ batchContext }: RawMessage): number => batchContext.partitionLeaderEpoch;
