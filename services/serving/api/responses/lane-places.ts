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
  readonly state: () => PlacesState;
};

/** Places to be stored, oldest first; base64 of little-endian numbers. */
type PlacesState = {
  /** 8 bytes each */
  readonly lanes: string;
  readonly offsets: string;
  /** 1 byte each */
  readonly partitions: string;
  readonly deletions: string;
  readonly isWhole: boolean;
};

/** Records. They take 7 MB of memory, and twice that if each has a different lane. */
const MOST_PLACES = 2 ** 18;
const NONE = -1;

type PlacesOptions = {
  /** places to keep; the oldest are dropped */
  readonly most?: number | undefined;
  readonly from?: PlacesState | undefined;
};

export function createLanePlaces({ most = MOST_PLACES, from }: PlacesOptions = {}): LanePlaces {
  // a ring buffer; the number of a place is the count of places noted before it
  const lanes = new Float64Array(most);
  const offsets = new Float64Array(most);
  const partitions = new Uint8Array(most);
  const deletions = new Uint8Array(most);
  /** the previous place in the same lane */
  const previous = new Float64Array(most);
  const latest = new Map<number, number>();
  let noted = 0;
  let isWhole = from?.isWhole ?? true;
  const note = (lane: number, { partition, offset }: Position, isDeletion: boolean): void => {
    const slot = noted % most;
    const overwritten = lanes[slot]!;
    if (noted >= most && latest.get(overwritten) === noted - most) latest.delete(overwritten);
    lanes[slot] = lane;
    offsets[slot] = offset;
    partitions[slot] = partition;
    deletions[slot] = isDeletion ? 1 : 0;
    previous[slot] = latest.get(lane) ?? NONE;
    latest.set(lane, noted);
    noted += 1;
    isWhole &&= noted <= most;
  };
  for (const { lane, at, isDeletion } of storedPlaces(from)) note(lane, at, isDeletion);
  const isKept = (place: number): boolean => place !== NONE && place >= noted - most;
  return {
    note: ({ type, subject, at }) => {
      if (type !== 'interaction.completed' && type !== 'response.deleted') return;
      const lane = numberOf(subject);
      if (lane === undefined) return;
      note(lane, at, type === 'response.deleted');
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
    isWhole: () => isWhole,
    state: () => {
      const first = noted <= most ? 0 : noted % most;
      const inOrder = <Kept extends Float64Array | Uint8Array>(kept: Kept): string =>
        Buffer.concat([
          bytesOf(kept.subarray(first, Math.min(noted, most))),
          bytesOf(kept.subarray(0, first)),
        ]).toString('base64');
      return {
        lanes: inOrder(lanes),
        offsets: inOrder(offsets),
        partitions: inOrder(partitions),
        deletions: inOrder(deletions),
        isWhole,
      };
    },
  };
}

const bytesOf = ({ buffer, byteOffset, byteLength }: Float64Array | Uint8Array): Buffer =>
  Buffer.from(buffer as ArrayBuffer, byteOffset, byteLength);

function* storedPlaces(from: PlacesState | undefined) {
  if (from === undefined) return;
  const [lanes, offsets, partitions, deletions] = [
    Buffer.from(from.lanes, 'base64'),
    Buffer.from(from.offsets, 'base64'),
    Buffer.from(from.partitions, 'base64'),
    Buffer.from(from.deletions, 'base64'),
  ] as const;
  for (let place = 0; place < partitions.length; place++) {
    const at = { partition: partitions[place]!, offset: offsets.readDoubleLE(8 * place) };
    yield { lane: lanes.readDoubleLE(8 * place), at, isDeletion: deletions[place] === 1 };
  }
}

/** A lane has 48 bits, so a number can represent it in less memory. */
const numberOf = (lane: string): number | undefined =>
  /^[0-9a-f]{12}$/.test(lane) ? Number.parseInt(lane, 16) : undefined;
