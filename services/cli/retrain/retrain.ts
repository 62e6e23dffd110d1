import { isDeepStrictEqual } from 'node:util';
import { BatchReturned } from '../../../shared/events/batch-returned.ts';
import { turnOfSample } from '../../../shared/events/sample-id.ts';
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
  const planNow = async () => {
    const learned = await readLearned(log, wish.adapter);
    const chain = await chainOf(learned, store, wish);
    return {
      learned,
      chain,
      returned: chain === undefined ? [] : await batchesOf(learned, chain, erasedIn(log)),
    };
  };
  for (let plan = await planNow(); ; ) {
    const { learned, chain, returned } = plan;
    if (chain === undefined) return sayNothing(learned, wish.adapter);
    console.log(planLines(learned, chain, returned).join('\n'));
    if (wish.isDry) return 0;
    if (wish.isSure) return carryOut(log, learned, { chain, returned, wish });
    if (!(await confirm('go on? [y/N] '))) {
      console.log('nothing is changed; --yes goes on without a question');
      return 1;
    }
    const now = await planNow();
    const isSame =
      now.learned.head.head === learned.head.head &&
      isDeepStrictEqual([now.chain, now.returned], [chain, returned]);
    if (isSame) return carryOut(log, now.learned, { chain, returned, wish });
    console.log('meanwhile the versions or the answers changed, so:');
    plan = now;
  }
}

/** The open batch may have what must go, although no version learned from it yet. */
function sayNothing(learned: ReadLearned, adapter: string): number {
  const { head, open } = learned.head;
  const isOpenTouched = open !== null && isTouched(learned, open.n);
  console.log(
    isOpenTouched
      ? `${open.batchId}, which is being trained, has an answer that was withdrawn or deleted. Run the command again when it has ended`
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
  return report(learned, await readLearned(log, adapter, rollback?.id), { to: chain.to, facts });
}

/** Looks at the log whether something came between the plan and the command. */
function report(
  { head: planned }: ReadLearned,
  { head, isPaused, withdrawn, at }: ReadLearned,
  { to, facts }: { readonly to: number; readonly facts: readonly BatchReturned[] },
): number {
  const hadEffect = at === undefined ? lineage(viewOf(head), head.head).includes(to) : at.after === to;
  const turns = facts.flatMap(({ data }) => data.samples.map(({ sampleId }) => turnOfSample(sampleId)));
  const trouble = !hadEffect
    ? `meanwhile the head moved to v${head.head}; the batches that it has not learned train on it. Run the command again`
    : turns.some((turn) => withdrawn.has(turn))
      ? 'meanwhile an answer that trains again was withdrawn or deleted. Run the command again'
      : at !== undefined && at.n > planned.n
        ? `meanwhile batch ${at.n} was formed, which may not train again: see clawloop policy retrain --from ${at.before}`
        : undefined;
  if (trouble !== undefined) {
    console.log(trouble);
    return 1;
  }
  const when = isPaused
    ? 'the batches train once learning is resumed'
    : 'the trainer takes the batches one by one';
  console.log(
    `the head is v${head.head}; ${facts.length === 0 ? 'there is nothing to train again' : `${when}, see clawloop policy list`}`,
  );
  return 0;
}
