import { sum } from '../../../shared/lang/numbers.ts';
import { lineage, viewOf } from '../../../shared/lineage/head.ts';
import { type batchesOf, type Chain, isTouched, type Learned } from './plan.ts';

type Returned = Awaited<ReturnType<typeof batchesOf>>;

const names = (numbers: readonly number[]): string => numbers.map((n) => `batch ${n}`).join(', ');

/** What `clawloop policy retrain` is about to do. */
export function planLines(
  learned: Learned,
  { to, batches, learned: known, lost }: Chain,
  returned: Returned,
): readonly string[] {
  const { head } = learned.head;
  const kept = sum(returned.map((batch) => batch?.samples.length ?? 0));
  const gone = sum(
    batches.map((n, index) => returned[index]?.without ?? learned.batches.get(n)?.samples.length ?? 0),
  );
  const left =
    gone === 0 ? '' : `; left out: ${gone}, which ${gone === 1 ? 'is' : 'are'} erased, withdrawn or deleted`;
  const samples = `${kept} ${kept === 1 ? 'sample' : 'samples'}`;
  const empty = batches.filter((_, index) => returned[index] === undefined);
  const count = batches.length - empty.length;
  const isClean = !lineage(viewOf(learned.head), to).some((version) => isTouched(learned, version));
  return [
    head === to ? `the head stays v${to}` : `the head goes back from v${head} to v${to}`,
    ...(isClean ? [] : [`v${to} itself learned from answers that are erased, withdrawn or deleted`]),
    count === 1
      ? `1 batch with ${samples} trains again${left}`
      : `${count} batches with ${samples} train again, in their order${left}`,
    ...(empty.length === 0 ? [] : [`nothing is left of ${names(empty)}`]),
    ...(known.length === 0 ? [] : [`v${to} learned already from ${names(known)}, or does now`]),
    ...(lost.length === 0
      ? []
      : [`${names(lost)}, which led to v${head}, ${lost.length === 1 ? 'does' : 'do'} not train again`]),
  ];
}
