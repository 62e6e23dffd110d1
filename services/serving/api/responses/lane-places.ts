import type { Position } from '../../../../shared/events/position.ts';
import type { Heading } from '../../../../shared/log/event-log.ts';

/** A record of an answer, or of the deletion of a response. */
export type Place = { readonly at: Position; readonly isDeletion: boolean };

/** An index of `conversations`: positions of the records of a lane that a look-up of its answers needs. */
export type LanePlaces = {
  /** Call this with each heading, in the order of its partition. */
  readonly note: (heading: Heading) => void;
  /** Latest first. */
  readonly of: (lane: string) => readonly Place[];
  /** Whether the index is complete: no place has been dropped yet. */
  readonly isWhole: () => boolean;
};

/** Records. They take 7 MB of memory, and twice that if each has a different lane. */
const MOST_PLACES = 2 ** 18;
const NONE = -1;

/** @param most places to keep; the oldest are dropped */
export function createLanePlaces(most = MOST_PLACES): LanePlaces {
  // a ring buffer; the number of a place is the count of places noted before it
  const lanes = new Float64Array(most);
  const offsets = new Float64Array(most);
  const partitions = new Uint8Array(most);
  const deletions = new Uint8Array(most);
  /** the previous place in the same lane */
  const previous = new Float64Array(most);
  const latest = new Map<number, number>();
  let noted = 0;
  const isKept = (place: number): boolean => place !== NONE && place >= noted - most;
  return {
    note: ({ type, subject, at }) => {
      if (type !== 'interaction.completed' && type !== 'response.deleted') return;
      const lane = numberOf(subject);
      if (lane === undefined) return;
      const slot = noted % most;
      const overwritten = lanes[slot]!;
      if (noted >= most && latest.get(overwritten) === noted - most) latest.delete(overwritten);
      lanes[slot] = lane;
      offsets[slot] = at.offset;
      partitions[slot] = at.partition;
      deletions[slot] = type === 'response.deleted' ? 1 : 0;
      previous[slot] = latest.get(lane) ?? NONE;
      latest.set(lane, noted);
      noted += 1;
    },
    of: (lane) => {
      const places: Place[] = [];
      let place = latest.get(numberOf(lane) ?? NONE) ?? NONE;
      while (isKept(place)) {
        const slot = place % most;
        const at = { partition: partitions[slot]!, offset: offsets[slot]! };
        places.push({ at, isDeletion: deletions[slot] === 1 });
        place = previous[slot]!;
      }
      return places;
    },
    isWhole: () => noted <= most,
  };
}

/** A lane has 48 bits, so a number can represent it in less memory. */
const numberOf = (lane: string): number | undefined =>
  /^[0-9a-f]{12}$/.test(lane) ? Number.parseInt(lane, 16) : undefined;
