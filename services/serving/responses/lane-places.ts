import type { Position } from '../../../shared/events/position.ts';
import type { Heading } from '../../../shared/log/event-log.ts';

/** A record of an answer, or of the deletion of a response. */
export type Place = { readonly at: Position; readonly isDeletion: boolean };

/** Where the records of a lane stand that a look-up of its answers needs: an index of `conversations`. */
export type LanePlaces = {
  /** To be called with each heading, in the order of its partition. */
  readonly note: (heading: Heading) => void;
  /** Latest first. */
  readonly of: (lane: string) => readonly Place[];
  /** Whether nothing was forgotten so far: a lane has no record that is not in the index. */
  readonly isWhole: () => boolean;
};

/** Records: 7 MB of memory, whatever the records hold, and as much again where each has a lane of its own. */
const MOST_PLACES = 2 ** 18;
const NONE = -1;

/** @param most places that are kept, the latest ones */
export function createLanePlaces(most = MOST_PLACES): LanePlaces {
  // a ring; a place goes by how many were noted before it
  const lanes = new Float64Array(most);
  const offsets = new Float64Array(most);
  const partitions = new Uint8Array(most);
  const deletions = new Uint8Array(most);
  /** the place before it in the same lane */
  const before = new Float64Array(most);
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
      before[slot] = latest.get(lane) ?? NONE;
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
        place = before[slot]!;
      }
      return places;
    },
    isWhole: () => noted <= most,
  };
}

/** A lane has 48 bits: a number holds them in a fraction of the memory. */
const numberOf = (lane: string): number | undefined =>
  /^[0-9a-f]{12}$/.test(lane) ? Number.parseInt(lane, 16) : undefined;
