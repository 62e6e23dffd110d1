import type { Topic } from '../events/define-event.ts';
import {
  type ChainBreak,
  type ChainedRecord,
  type ChainHead,
  emptyChain,
  linkAfter,
  type VerifiedChain,
} from './chain.ts';

/** A link that a chain must have at the offset `at`: where all records before it, and none from it on, count. */
export type Witness = { readonly at: number; readonly link: string; readonly who: string };

/** Heads that were noted of one partition, as witnesses against the chain that begins at `from`. */
export function notedWitnesses(
  noted: readonly ChainHead[],
  { topic, partition, from }: { readonly topic: Topic; readonly partition: number; readonly from: number },
): { readonly witnesses: readonly Witness[]; readonly other: readonly ChainHead[] } {
  const mine = noted.filter((one) => one.topic === topic && one.partition === partition);
  const same = mine.filter((one) => one.from === from);
  return {
    witnesses: same.map(({ to, head }) => ({ at: to, link: head, who: 'the head that was noted' })),
    other: mine.filter((one) => one.from !== from),
  };
}

/** Recomputes one chain, record by record, against what others know of it. */
export function openVerifier(
  place: { readonly topic: Topic; readonly partition: number; readonly from: number },
  witnesses: readonly Witness[],
) {
  const waiting = [...witnesses].sort((a, b) => a.at - b.at);
  let link = emptyChain;
  let next = place.from;
  let records = 0;
  let sound = place.from;
  /** up to here a witness agrees: the log's own links cannot speak against one */
  let vouched = place.from;
  let broken: ChainBreak | undefined;
  const breaks = (to: number, why: string, from = sound): void => {
    broken ??= { from, to, why };
  };
  /** All witnesses that are heard before a record at `offset`. */
  const hear = (offset: number): void => {
    while (waiting.length > 0 && waiting[0]!.at <= offset) {
      const { at, link: known, who } = waiting.shift()!;
      if (known === link) {
        vouched = at;
        sound = Math.max(sound, at);
      } else breaks(at, `the records do not give ${who}`, vouched);
    }
  };
  return {
    breaks,
    /** Records whose link is computed together, as they were appended. */
    add: (together: readonly ChainedRecord[]): void => {
      const [first] = together;
      if (first === undefined) return;
      hear(first.offset);
      link = linkAfter(link, together);
      records += together.length;
      next = together.at(-1)!.offset + 1;
    },
    /** The link that stands in the log behind what was added last. */
    claims: (known: string): void => {
      if (known === link) sound = next;
      else breaks(next, 'the records are not those that were appended');
      link = known;
    },
    /** @param end the offset behind the last record that the partition had */
    end: (end: number): VerifiedChain => {
      hear(end);
      for (const { at, who } of waiting.splice(0)) breaks(at, `ends before ${who}`);
      const covered = { ...place, to: Math.max(end, place.from), head: link, records };
      return broken === undefined ? covered : { ...covered, broken };
    },
  };
}

/** A head that was noted of a chain that begins elsewhere: the log was replaced, or its chain begun again. */
export const otherChain = ({ from, to }: ChainHead, now: number): ChainBreak => ({
  from,
  to,
  why: `a head was noted of a chain from ${from} on; the chain begins at ${now}`,
});
