import type { TrimmableTopic } from '../events/log-trimmed.ts';
import type { CutPlace, Outline } from '../log/retention.ts';
import type { Limit } from './limits.ts';

/** A record that must stay, with all later ones of its partition. */
export type Hold = {
  readonly topic: TrimmableTopic;
  readonly partition: number;
  readonly offset: number;
  readonly why: string;
};

/** One partition of a topic, as it is kept now. */
export type KeptPartition = Outline & {
  readonly topic: TrimmableTopic;
  readonly partition: number;
  /** first kept offset */
  readonly start: number;
};

/** A partition of which the limits remove something. */
export type WantedCut = KeptPartition & { readonly wanted: CutPlace };

export type ChosenCut = {
  readonly topic: TrimmableTopic;
  readonly partition: number;
  /** first kept offset before the cut */
  readonly from: number;
  /** Undefined: nothing may be removed yet. */
  readonly place: CutPlace | undefined;
  /** Why more must stay than the limits ask for; absent: nothing more must. */
  readonly heldBy?: string;
};

/** The cuts that the limits of one topic ask for. The size of the topic is shared out by the sizes of its partitions. */
export function wantedCuts(
  partitions: readonly KeptPartition[],
  { maxAgeMs = Number.POSITIVE_INFINITY, maxBytes = Number.POSITIVE_INFINITY }: Limit,
  now: number,
): readonly WantedCut[] {
  const total = partitions.reduce((sum, { bytes }) => sum + bytes, 0);
  return partitions.flatMap((kept) => {
    const { places, bytes } = kept;
    const old = places.findLast(({ time }) => time < now - maxAgeMs);
    const share = total <= maxBytes ? bytes : (bytes * maxBytes) / total;
    const fits = places.find((place) => bytes - place.bytes <= share) ?? places.at(-1);
    const large = bytes > share ? fits : undefined;
    const wanted = later(old, large);
    return wanted === undefined || wanted.offset <= kept.start ? [] : [{ ...kept, wanted }];
  });
}

const later = (a: CutPlace | undefined, b: CutPlace | undefined): CutPlace | undefined =>
  a === undefined || (b !== undefined && b.offset > a.offset) ? b : a;

/** The last place that is wanted and before which nothing is held. */
export function chooseCut(
  { topic, partition, start, places, wanted }: WantedCut,
  holds: readonly Hold[],
): ChosenCut {
  const first = holds
    .filter((hold) => hold.topic === topic && hold.partition === partition)
    .reduce<Hold | undefined>((a, b) => (a === undefined || b.offset < a.offset ? b : a), undefined);
  const limit = Math.min(first?.offset ?? Number.POSITIVE_INFINITY, wanted.offset);
  const place = places.findLast(({ offset }) => offset <= limit && offset > start);
  const chosen = { topic, partition, from: start, place };
  return first === undefined || first.offset >= wanted.offset ? chosen : { ...chosen, heldBy: first.why };
}
