import { logError } from '../errors.ts';
import { errorType } from './kafka-errors.ts';
import { chainedRecord } from './messages.ts';
import { pointOf, type ReadPoint } from './read-so-far.ts';
import type { TopicReader } from './topic-reader.ts';

type Reader = Pick<TopicReader, 'offsets' | 'fetch'>;

/** What was read of one partition: the position, and sample records before it. */
export type WasRead = { readonly position: number; readonly points: readonly ReadPoint[] };

/** Records that were read are gone, or different records have their offsets. */
export type Loss = {
  readonly position: number;
  /** All records below this offset are intact. */
  readonly intact: number;
  readonly why: string;
};

/**
 * Checks whether a partition still has the records that were read. A cluster that loses the end of a partition
 * (power failure before the data reached the disk, unclean leader election) reuses the offsets.
 * @throws LogUnavailable
 */
export async function findLoss(
  reader: Reader,
  { name, partition }: { readonly name: string; readonly partition: number },
  { position, points }: WasRead,
): Promise<Loss | undefined> {
  const end = (await reader.offsets(name, 'end'))[partition]!;
  const start = (await reader.offsets(name, 'start'))[partition]!;
  // Trimmed records do not count as lost.
  const kept = points.filter(([offset]) => offset >= start).toReversed();
  const stands = async (point: ReadPoint) =>
    point[0] < end && (await isThere(reader, { name, partition }, point));
  const last = kept[0];
  const isWhole = end >= position && (last === undefined || (await stands(last)));
  if (isWhole) return undefined;
  const why =
    end < position
      ? `ends at ${end}, and was read up to ${position}`
      : `holds another record at ${last![0]} than was read there`;
  for (const point of kept) if (await stands(point)) return { position, intact: point[0] + 1, why };
  return { position, intact: kept.length === 0 ? Math.max(start, Math.min(position, end)) : start, why };
}

export async function isThere(
  reader: Pick<TopicReader, 'fetch'>,
  { name, partition }: { readonly name: string; readonly partition: number },
  [offset, hash]: ReadPoint,
): Promise<boolean> {
  try {
    const [fetched] = await reader.fetch(name, new Map([[partition, offset]]), { waitMs: 0, maxBytes: 1 });
    const found = fetched?.records.find((record) => Number(record.offset) === offset);
    return found !== undefined && pointOf(chainedRecord(found))[1] === hash;
  } catch (error) {
    if (errorType(error) === 'OFFSET_OUT_OF_RANGE') return false;
    throw error;
  }
}

export const recordsLost = (name: string, partition: number, why: string): Error =>
  logError(
    'RecordsLost',
    `${name}/${partition} ${why}: records are lost; list them with clawloop topics repair --dry-run, continue without them with clawloop topics repair`,
  );
