import { isThere, recordsLost } from './find-loss.ts';
import type { RawMessage } from './kafkajs-internals.ts';
import { chainedRecord } from './messages.ts';
import { pointOf, type ReadPoint } from './read-so-far.ts';
import type { FetchedPartition, TopicReader } from './topic-reader.ts';

/** What a reader saw last of one partition. */
type Seen = { readonly epoch: number; readonly last: ReadPoint | undefined };

/**
 * A reader that goes on over a change of leader. Each batch says under which leader it was written: at the
 * first one of a new leader, the record that was read last must still be there. Else the records between are
 * lost, and what comes now has their offsets.
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
