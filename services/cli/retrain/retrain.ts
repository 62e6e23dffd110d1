import { BatchReturned } from '../../../shared/events/batch-returned.ts';
import { defined } from '../../../shared/lang/defined.ts';
import { sum } from '../../../shared/lang/numbers.ts';
import { lineage, viewOf } from '../../../shared/lineage/head.ts';
import { operatorOrigin, rollbackFact } from '../../../shared/lineage/operator-facts.ts';
import { isLogError } from '../../../shared/log/errors.ts';
import type { EventLog } from '../../../shared/log/event-log.ts';
import type { CheckpointStore } from '../../../shared/policy/checkpoints/checkpoint-store.ts';
import { UsageError } from '../../../shared/runtime/command-errors.ts';
import { confirm } from '../confirm.ts';
import { batchesOf, type Chain, chainBetween, type Learned, newestUntouched } from './plan.ts';
import { readLearned } from './read-learned.ts';

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

/**
 * `clawloop policy retrain`: rolls back, and lets the batches of the versions that are left train again, without what
 * was erased, withdrawn or deleted since. @returns the exit code
 */
export async function retrain(log: EventLog, store: CheckpointStore, wish: RetrainWish): Promise<number> {
  const { adapter, reason } = wish;
  const learned = await readLearned(log, adapter);
  const chain = await chainOf(learned, store, wish);
  if (chain === undefined) {
    console.log(
      `v${learned.head.head} of ${adapter} learned from no answer that was erased, withdrawn or deleted: nothing to do`,
    );
    return 0;
  }
  const { to } = chain;
  const returned = await batchesOf(learned, chain, erasedIn(log));
  const batches = returned.filter((batch) => batch !== undefined);
  const { head } = learned.head;
  console.log(planLines(chain, returned, head).join('\n'));
  if (wish.isDry) return 0;
  if (!(wish.isSure || (await confirm('go on? [y/N] ')))) {
    console.log('nothing is changed; --yes goes on without a question');
    return 1;
  }
  const rollback = head === to ? [] : [rollbackFact({ adapter, from: head, to, reason }, SOURCE)];
  const facts = batches.map((data) =>
    BatchReturned.create({ ...operatorOrigin(SOURCE), data: { ...data, ...defined({ reason }) } }),
  );
  await log.append([...rollback, ...facts]);
  return report(await readLearned(log, adapter), chain, batches.length);
}

/** @throws UsageError when the versions are unknown, or nothing is left to train again */
async function chainOf(
  learned: Learned,
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
  if (chain.versions.length === 0)
    throw new UsageError(`no version after v${start} leads to v${from ?? head}; see clawloop policy list`);
  return chain;
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

type Returned = Awaited<ReturnType<typeof batchesOf>>;

function planLines({ to, versions }: Chain, returned: Returned, head: number): readonly string[] {
  const kept = sum(returned.map((batch) => batch?.samples.length ?? 0));
  const gone = sum(returned.map((batch) => batch?.without ?? 0));
  const without =
    gone === 0 ? '' : `; left out: ${gone}, which ${gone === 1 ? 'is' : 'are'} erased, withdrawn or deleted`;
  const samples = `${kept} ${kept === 1 ? 'sample' : 'samples'}`;
  const empty = versions.filter((_, index) => returned[index] === undefined);
  const batches = returned.length - empty.length;
  return [
    head === to ? `the head stays v${to}` : `the head goes back from v${head} to v${to}`,
    batches === 1
      ? `1 batch with ${samples} trains again${without}`
      : `${batches} batches with ${samples} train again, in their order${without}`,
    ...(empty.length === 0 ? [] : [`nothing is left of ${empty.map((version) => `v${version}`).join(', ')}`]),
  ];
}

function report({ head }: Learned, { to }: Chain, batches: number): number {
  const isOnLine = lineage(viewOf(head), head.head).includes(to);
  if (!isOnLine) {
    console.log(
      `the rollback had no effect: meanwhile the head moved to v${head.head}; run the command again`,
    );
    return 1;
  }
  console.log(
    batches === 0
      ? `the head is v${to}; there is nothing to train again`
      : `the head is v${head.head}; the trainer takes the batches one by one, see clawloop policy list`,
  );
  return 0;
}
