import { type Topic, topics } from '../events/define-event.ts';
import type { Position } from '../events/position.ts';

/** A record's place in the log. */
export type Place = Position & { readonly topic: Topic };

const OFFSETS = 2 ** 40;
const PARTITIONS = 2 ** 8;

/** One number instead of an object, because the read model keeps about ten places per turn. */
export const packPlace = ({ topic, partition, offset }: Place): number =>
  (topics.indexOf(topic) * PARTITIONS + partition) * OFFSETS + offset;

export function unpackPlace(packed: number): Place {
  const offset = packed % OFFSETS;
  const rest = Math.floor(packed / OFFSETS);
  return { topic: topics[Math.floor(rest / PARTITIONS)]!, partition: rest % PARTITIONS, offset };
}

/** As `clawloop topics tail` prints it. */
export const placeName = ({ topic, partition, offset }: Place): string => `${topic}/${partition}@${offset}`;
