import { logError } from '../errors.ts';
import type { TopicReader } from './topic-reader.ts';

/**
 * Where to go on, per partition, after OFFSET_OUT_OF_RANGE: records that were trimmed are gone.
 * @throws LogMismatch where an offset is beyond the end, which means that this is another log; LogUnavailable
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
        throw logError('LogMismatch', `${name}/${partition} ends at ${ends[partition]}, before ${at}`);
      }
      return [partition, Math.max(at, starts[partition]!)];
    }),
  );
}
