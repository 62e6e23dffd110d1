import { logError } from '../errors.ts';
import { errorType } from './kafka-errors.ts';
import { chainedRecord } from './messages.ts';
import { pointOf, type ReadPoint } from './read-so-far.ts';
import type { TopicReader } from './topic-reader.ts';

type Reader = Pick<TopicReader, 'offsets' | 'fetch'>;

/** What was read of one partition: up to which position, and records on the way. */
export type WasRead = { readonly position: number; readonly points: readonly ReadPoint[] };

/** Records that were read are not there any more, or others stand in their places. */
export type Loss = {
  readonly position: number;
  /** All that was read below it is still there. */
  readonly intact: number;
  readonly why: string;
};

/**
 * Whether a partition still holds what was read of it. A cluster that loses its tail (a power cut before the
 * disk had it, an unclean leader) gives the same offsets to other records.
 * @throws LogUnavailable
 */
export async function findLoss(
  reader: Reader,
  { name, partition }: { readonly name: string; readonly partition: number },
  { position, points }: WasRead,
): Promise<Loss | undefined> {
  const end = (await reader.offsets(name, 'end'))[partition]!;
  const start = (await reader.offsets(name, 'start'))[partition]!;
  // what was trimmed is nobody's loss
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
    `${name}/${partition} ${why}: records are lost; see them with clawloop topics repair --dry-run, go on without them with clawloop topics repair`,
  );
