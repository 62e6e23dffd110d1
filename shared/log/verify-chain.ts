import type { Topic } from '../events/define-event.ts';
import type { LogTrimmed } from '../events/log-trimmed.ts';
import {
  type ChainBreak,
  type ChainedRecord,
  type ChainHead,
  emptyChain,
  linkAfter,
  type VerifiedChain,
} from './chain.ts';

/** The link that a chain must have after all records before the offset `at`. `who`: the source of the link. */
export type Witness = { readonly at: number; readonly link: string; readonly who: string };

/** The noted heads of one partition: witnesses for the chain that begins at `from`, and heads of other chains. */
export function notedWitnesses(
  noted: readonly ChainHead[],
  { topic, partition, from }: { readonly topic: Topic; readonly partition: number; readonly from: number },
): { readonly witnesses: readonly Witness[]; readonly other: readonly ChainHead[] } {
  const mine = noted.filter((head) => head.topic === topic && head.partition === partition);
  const same = mine.filter((head) => head.from === from);
  return {
    witnesses: same.map(({ to, head }) => ({ at: to, link: head, who: 'the head that was noted' })),
    other: mine.filter((head) => head.from !== from),
  };
}

/**
 * The link from which a chain is recomputed: after the records that were trimmed, as `log.trimmed` recorded it.
 * Undefined: no trim up to there is recorded.
 */
export function beginAt(
  { topic, partition, from }: { readonly topic: Topic; readonly partition: number; readonly from: number },
  start: number,
  trims: readonly ChainHead[],
): Begin | undefined {
  if (start <= from) return { at: from, link: emptyChain };
  const trim = trims.find(
    (one) => one.topic === topic && one.partition === partition && one.to === start && one.from === from,
  );
  return trim && { at: start, link: trim.head };
}

type Begin = { readonly at: number; readonly link: string };

/**
 * Recomputes one chain, record by record, and compares it with the witnesses. Of a trimmed chain, the rest is
 * recomputed from `begin` on; earlier witnesses say nothing about it.
 */
export function openVerifier(
  place: { readonly topic: Topic; readonly partition: number; readonly from: number },
  witnesses: readonly Witness[],
  begin: Begin = { at: place.from, link: emptyChain },
) {
  const waiting = witnesses.filter(({ at }) => at >= begin.at).sort((a, b) => a.at - b.at);
  let { link } = begin;
  let next = begin.at;
  let records = 0;
  let sound = begin.at;
  /** the chain agrees with a witness up to here, whatever the links in the log say */
  let vouched = begin.at;
  let broken: ChainBreak | undefined;
  const breaks = (to: number, why: string, from = sound): void => {
    broken ??= { from, to, why };
  };
  /** Checks all witnesses up to `offset`. */
  const check = (offset: number): void => {
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
    /** Adds records that share one link because they were appended together. */
    add: (together: readonly ChainedRecord[]): void => {
      const [first] = together;
      if (first === undefined) return;
      check(first.offset);
      link = linkAfter(link, together);
      records += together.length;
      next = together.at(-1)!.offset + 1;
    },
    /** Compares with the link that the log stores after the last added records. */
    claims: (known: string): void => {
      if (known === link) sound = next;
      else breaks(next, 'the records are not those that were appended');
      link = known;
    },
    /** @param end the offset after the last record of the partition */
    end: (end: number): VerifiedChain => {
      check(end);
      for (const { at, who } of waiting.splice(0)) breaks(at, `ends before ${who}`);
      const covered = { ...place, to: Math.max(end, begin.at), head: link, records };
      return broken === undefined ? covered : { ...covered, broken };
    },
  };
}

/** The break for a partition that lacks its first records, although no trim of them is recorded. */
export const untoldTrim = (from: number, start: number): ChainBreak => ({
  from,
  to: start,
  why: `the records before ${start} are missing, and no trim to ${start} is recorded`,
});

/** The break for a noted head of a chain with another start: the log was replaced, or the chain restarted. */
export const otherChain = ({ from, to }: ChainHead, now: number): ChainBreak => ({
  from,
  to,
  why: `a head was noted of a chain from ${from} on; the chain begins at ${now}`,
});

/** The chain at a trim, from which the rest of the partition is verified. */
export const chainOf = ({ data: { topic, partition, to, chain } }: LogTrimmed): ChainHead => ({
  topic,
  partition,
  from: chain.from,
  to,
  head: chain.link,
});
