import { recordsLost } from './find-loss.ts';
import type { TopicReader } from './topic-reader.ts';

/**
 * The position after the trimmed records, per partition: where to continue after OFFSET_OUT_OF_RANGE.
 * @throws RecordsLost if an offset is beyond the end; LogUnavailable
 */
export async function skipTrimmed(
  reader: Pick<TopicReader, 'offsets'>,
  name: string,
  positions: ReadonlyMap<number, number>,
): Promise<ReadonlyMap<number, number>> {
  const [starts, ends] = [await reader.offsets(name, 'start'), await reader.offsets(name, 'end')];
  return new Map(
    [...positions].map(([partition, at]) => {
      if (at > ends[partition]!) {
        throw recordsLost(name, partition, `ends at ${ends[partition]}, and was read up to ${at}`);
      }
      return [partition, Math.max(at, starts[partition]!)];
    }),
  );
}
