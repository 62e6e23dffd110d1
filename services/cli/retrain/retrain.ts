import { BatchReturned } from '../../../shared/events/batch-returned.ts';
import { defined } from '../../../shared/lang/defined.ts';
import { lineage, viewOf } from '../../../shared/lineage/head.ts';
import { operatorOrigin, rollbackFact } from '../../../shared/lineage/operator-facts.ts';
import { isLogError } from '../../../shared/log/errors.ts';
import type { EventLog } from '../../../shared/log/event-log.ts';
import type { CheckpointStore } from '../../../shared/policy/checkpoints/checkpoint-store.ts';
import { UsageError } from '../../../shared/runtime/command-errors.ts';
import { confirm } from '../confirm.ts';
import { batchesOf, type Chain, chainBetween, isTouched, newestUntouched } from './plan.ts';
import { type ReadLearned, readLearned } from './read-learned.ts';
import { planLines } from './report.ts';

const SOURCE = 'clawloop/cli';

export type RetrainWish = {
  readonly adapter: string;
  /** version to start from; undefined: the newest that learned nothing that must go */
  readonly to: number | undefined;
  /** version whose line trains again; undefined: the head */
  readonly from: number | undefined;
  readonly reason: string | undefined;
  readonly isDry: boolean;
  readonly isSure: boolean;
};

type Place = { readonly log: EventLog; readonly store: CheckpointStore };

/**
 * `clawloop policy retrain`: rolls back, and lets the batches of the versions that are left train again, without what
 * was erased, withdrawn or deleted since. @returns the exit code
 */
export async function retrain({ log, store }: Place, wish: RetrainWish): Promise<number> {
  const { adapter } = wish;
  for (let learned = await readLearned(log, adapter); ; ) {
    const chain = await chainOf(learned, store, wish);
    if (chain === undefined) return sayNothing(learned, adapter);
    const returned = await batchesOf(learned, chain, erasedIn(log));
    console.log(planLines(learned, chain, returned).join('\n'));
    if (wish.isDry) return 0;
    if (wish.isSure) return carryOut(log, learned, { chain, returned, wish });
    if (!(await confirm('go on? [y/N] '))) {
      console.log('nothing is changed; --yes goes on without a question');
      return 1;
    }
    const now = await readLearned(log, adapter);
    if (isSame(learned, now)) return carryOut(log, learned, { chain, returned, wish });
    console.log('meanwhile a batch was formed or ended, so:');
    learned = now;
  }
}

const isSame = ({ head: a }: ReadLearned, { head: b }: ReadLearned): boolean =>
  a.head === b.head && a.n === b.n && a.open?.n === b.open?.n;

/** The open batch may have what must go, although no version learned from it yet. */
function sayNothing(learned: ReadLearned, adapter: string): number {
  const { head, open } = learned.head;
  const isOpenTouched = open !== null && isTouched(learned, open.n);
  console.log(
    isOpenTouched
      ? `${open.batchId}, which is being trained, has an answer that was withdrawn or deleted: run the command again when it has ended`
      : `v${head} of ${adapter} learned from no answer that was erased, withdrawn or deleted: nothing to do`,
  );
  return isOpenTouched ? 1 : 0;
}

/** @throws UsageError when the versions are unknown, or nothing is left to train again */
async function chainOf(
  learned: ReadLearned,
  store: CheckpointStore,
  { to, from }: RetrainWish,
): Promise<Chain | undefined> {
  const { head, versions: known } = learned.head;
  for (const version of [to, from])
    if (version !== undefined && known[version] === undefined)
      throw new UsageError(`v${version} was never served; see clawloop policy list`);
  const hasCheckpoint = async (version: number) => {
    const name = known[version]?.checkpoint ?? null;
    return name === null || store.has(name);
  };
  if (to !== undefined && !(await hasCheckpoint(to)))
    throw new UsageError(`the checkpoint of v${to} is gone; choose a version that has one`);
  // A line that was rolled back already trains again on what is served now.
  const start = to ?? (from === undefined ? await newestUntouched(learned, head, hasCheckpoint) : head);
  if (start === undefined) return undefined;
  const chain = chainBetween(learned, start, from ?? head);
  if (chain.batches.length > 0) return chain;
  throw new UsageError(
    chain.learned.length > 0
      ? `v${start} learned already from all batches that led to v${from ?? head}`
      : `no version after v${start} leads to v${from ?? head}; see clawloop policy list`,
  );
}

/** A record that cannot be read trains nothing. */
const erasedIn =
  (log: Pick<EventLog, 'read'>) =>
  async ({ at }: { readonly at: Parameters<EventLog['read']>[1] }): Promise<boolean> => {
    try {
      return (await log.read('training', at)).erased !== undefined;
    } catch (error) {
      if (isLogError(error, 'RecordGone') || isLogError(error, 'BrokenRecord')) return true;
      throw error;
    }
  };

type Decided = {
  readonly chain: Chain;
  readonly returned: Awaited<ReturnType<typeof batchesOf>>;
  readonly wish: RetrainWish;
};

async function carryOut(log: EventLog, learned: ReadLearned, decided: Decided): Promise<number> {
  const { chain, returned, wish } = decided;
  const { adapter, reason } = wish;
  const { head } = learned.head;
  const rollback =
    head === chain.to ? undefined : rollbackFact({ adapter, from: head, to: chain.to, reason }, SOURCE);
  const facts = returned
    .filter((batch) => batch !== undefined)
    .map((data) =>
      BatchReturned.create({ ...operatorOrigin(SOURCE), data: { ...data, ...defined({ reason }) } }),
    );
  await log.append([...(rollback === undefined ? [] : [rollback]), ...facts]);
  return report(learned, await readLearned(log, adapter, rollback?.id), {
    to: chain.to,
    batches: facts.length,
  });
}

/** Looks at the log whether something came between the plan and the command. */
function report(
  { head: planned }: ReadLearned,
  { head, isPaused, at }: ReadLearned,
  { to, batches }: { readonly to: number; readonly batches: number },
): number {
  const hadEffect = at === undefined ? lineage(viewOf(head), head.head).includes(to) : at.after === to;
  if (!hadEffect) {
    console.log(
      `the rollback had no effect: meanwhile the head moved to v${head.head}; run the command again`,
    );
    return 1;
  }
  if (at !== undefined && at.n > planned.n) {
    console.log(
      `meanwhile the batches up to v${at.n} were formed, which do not train again: see clawloop policy retrain --from ${at.before}`,
    );
    return 1;
  }
  const when = isPaused
    ? 'the batches train once learning is resumed'
    : 'the trainer takes the batches one by one';
  console.log(
    `the head is v${head.head}; ${batches === 0 ? 'there is nothing to train again' : `${when}, see clawloop policy list`}`,
  );
  return 0;
}
