import type { Topic } from '../../events/define-event.ts';
import { type ChainedRecord, type ChainHead, linkAfter } from '../chain.ts';
import { logError } from '../errors.ts';
import type { RewrittenChain } from '../log-contents.ts';
import { beginAt, untoldTrim } from '../verify-chain.ts';
import { pointOf, type ReadSoFar } from './read-so-far.ts';
import { trimTo } from './still-log.ts';

/** What a group has read of a partition, up to its position. */
export type GroupRead = { readonly group: string; readonly position: number; readonly read: ReadSoFar };

export type RewrittenRun = {
  /** `link`: before the first record; `from`: where the chain began */
  readonly chain: { readonly from: number; readonly link: string };
  readonly before: string;
  readonly after: string;
  /** undefined: no record changes */
  readonly rewritten: RewrittenChain | undefined;
  /** what each group has read, as if the records had always been so */
  readonly reads: ReadonlyMap<string, ReadSoFar>;
};

type Run = { readonly topic: Topic; readonly partition: number; readonly start: number };
type Chain = { before: string; after: string };

/**
 * Computes the chains of a partition as they are and as they will be, the links and samples that its groups hold
 * included. So services find the rewritten records to be those that they have read.
 *
 * @param trims as `log.trimmed` recorded them
 * @throws LogRefused when a chain does not fit its records, so that no rewriting covers up what changed before
 */
export function openRewrittenRun(run: Run, trims: readonly ChainHead[], groups: readonly GroupRead[]) {
  const { topic, partition, start } = run;
  const trim = trimTo(run, trims);
  if (trim === undefined && start > 0) throw broken(run, start, untoldTrim(0, start).why);
  const origin = trim?.from ?? start;
  const link = beginAt({ topic, partition, from: origin }, start, trims)!.link;
  const chains = new Map<number, Chain>([[origin, { before: link, after: link }]]);
  // What a group read before records that were trimmed cannot be computed; nobody compares it, either.
  for (const { read } of groups)
    if (read.from >= start && !chains.has(read.from)) chains.set(read.from, { before: '', after: '' });
  const points = new Map<number, string>();
  for (const { read } of groups)
    for (const [offset, hash] of read.points) if (offset >= start) points.set(offset, hash);
  const renewed = new Map<number, string>();
  const reads = new Map<string, ReadSoFar>();
  const waiting = groups.toSorted((a, b) => a.position - b.position);
  let first: number | undefined;
  let records = 0;

  /** Notes what groups with a position up to `offset` have read. */
  const settle = (offset: number): void => {
    while (waiting.length > 0 && waiting[0]!.position <= offset) {
      const { group, position, read } = waiting.shift()!;
      const chain = chains.get(read.from);
      if (chain !== undefined && chain.before !== read.link)
        throw broken(run, position, `the records do not give what ${group} read`);
      reads.set(group, { ...read, link: chain?.after ?? read.link });
    }
  };
  return {
    /** @param is the same object if the record stays */
    add: (was: ChainedRecord, is: ChainedRecord): void => {
      settle(was.offset);
      for (const [from, chain] of chains) {
        if (from > was.offset) continue;
        const isSame = is === was && chain.before === chain.after;
        chain.before = linkAfter(chain.before, [was]);
        chain.after = isSame ? chain.before : linkAfter(chain.after, [is]);
      }
      if (points.has(was.offset)) {
        if (pointOf(was)[1] !== points.get(was.offset))
          throw broken(run, was.offset + 1, 'a group read another record there');
        renewed.set(was.offset, pointOf(is)[1]);
      }
      if (is === was) return;
      first ??= was.offset;
      records += 1;
    },
    /** @param end the offset after the last record */
    end: (end: number): RewrittenRun => {
      settle(end);
      if (waiting.length > 0) throw broken(run, end, `ends before what ${waiting[0]!.group} read`);
      const { before, after } = chains.get(origin)!;
      return {
        chain: { from: origin, link },
        before,
        after,
        rewritten:
          first === undefined ? undefined : { topic, partition, first, to: end, records, before, after },
        reads: new Map(
          [...reads].map(([group, read]) => [
            group,
            { ...read, points: read.points.filter(([offset]) => offset >= start).map(pointIn(run, renewed)) },
          ]),
        ),
      };
    },
  };
}

const pointIn =
  (run: Run, renewed: ReadonlyMap<number, string>) =>
  ([offset]: readonly [number, string]): readonly [number, string] => {
    const hash = renewed.get(offset);
    if (hash === undefined) throw broken(run, offset + 1, 'a record that a group read is missing');
    return [offset, hash];
  };

const broken = ({ topic, partition }: Run, offset: number, why: string): Error =>
  logError(
    'LogRefused',
    `the records of ${topic}/${partition} up to ${offset} are not those that were appended (${why}), and rewriting ` +
      'them would hide that: see clawloop audit',
  );
