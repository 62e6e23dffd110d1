import { failed } from './failures.ts';
import { type AdvantageKind, advantagesOf } from './group.ts';
import { persist } from './persist.ts';
import type { Task } from './read-tasks.ts';
import { type Attempt, type AttemptOutcome, type AttemptWorld, discard, runAttempt } from './run-attempt.ts';

/** What became of one attempt, once the other attempts at its task were done too. */
export type Settled = {
  readonly attempt: Attempt;
  readonly outcome: AttemptOutcome;
  /** undefined: failed, or fewer than two attempts at the task were rewarded */
  readonly advantage: number | undefined;
  /** of a rewarded one, whether the server took its end; else it ends by itself, with its reward */
  readonly isEnded: boolean;
};

export type RolloutWorld = AttemptWorld & {
  readonly concurrency: number;
  readonly advantage: AdvantageKind;
  readonly onAttempt: (outcome: AttemptOutcome) => void;
  readonly onSettled: (settled: readonly Settled[]) => void;
};

/**
 * n attempts at each task, each in a session of its own; when those at a task are done, their rewards go out
 * with what each is worth against the others, and their sessions end.
 */
export async function runRollout(tasks: readonly Task[], n: number, world: RolloutWorld): Promise<void> {
  const attempts = tasks.flatMap((task, index) =>
    Array.from({ length: n }, (_, attempt): Attempt => ({ task, index, attempt, rank: index * n + attempt })),
  );
  const groups = new Map<number, { readonly attempt: Attempt; readonly outcome: AttemptOutcome }[]>();
  const settling: Promise<void>[] = [];
  const next = attempts.values();
  const worker = async (): Promise<void> => {
    for (const attempt of next) {
      const outcome = world.stop.aborted ? neverBegun : await runAttempt(attempt, world);
      world.onAttempt(outcome);
      const group = groups.get(attempt.index) ?? [];
      groups.set(attempt.index, [...group, { attempt, outcome }]);
      if (group.length + 1 === n) settling.push(settle(groups.get(attempt.index)!, world));
    }
  };
  await Promise.all(Array.from({ length: world.concurrency }, worker));
  await Promise.all(settling);
}

const neverBegun: AttemptOutcome = {
  kind: 'failed',
  ...failed('interrupted', 'stopped before it began'),
  session: undefined,
  earlier: [],
  ms: 0,
};

async function settle(
  group: readonly { readonly attempt: Attempt; readonly outcome: AttemptOutcome }[],
  world: RolloutWorld,
): Promise<void> {
  const rewards = group.flatMap(({ outcome }) => (outcome.kind === 'rewarded' ? [outcome.reward] : []));
  const advantages = advantagesOf(rewards, world.advantage).values();
  const worth = new Map(
    group.flatMap(({ attempt, outcome }) =>
      outcome.kind === 'rewarded' ? [[attempt, advantages.next().value] as const] : [],
    ),
  );
  const isStopped = world.stop.aborted;
  // one after the other, those that began first: a batch that is made of the first ends makes the rest older
  const settled: Settled[] = [];
  for (const { attempt, outcome } of group.toSorted((a, b) => a.attempt.rank - b.attempt.rank))
    settled.push(await settleOne({ attempt, outcome }, { advantage: worth.get(attempt), isStopped }, world));
  world.onSettled(settled);
}

async function settleOne(
  { attempt, outcome }: { readonly attempt: Attempt; readonly outcome: AttemptOutcome },
  { advantage, isStopped }: { readonly advantage: number | undefined; readonly isStopped: boolean },
  world: RolloutWorld,
): Promise<Settled> {
  const none = { attempt, outcome, advantage: undefined, isEnded: false };
  if (outcome.kind === 'failed') return none;
  if (isStopped) {
    await discard(world, outcome.session);
    const stopped = failed('interrupted', 'stopped before the other attempts at its task were done');
    return { ...none, outcome: { ...outcome, kind: 'failed', ...stopped, session: outcome.session.session } };
  }
  const isEnded = await tellAndEnd(world, outcome.session.key, outcome, advantage);
  return { attempt, outcome, advantage, isEnded };
}

async function tellAndEnd(
  { client, stop }: RolloutWorld,
  key: string,
  { reward, interaction }: { readonly reward: number; readonly interaction: string },
  advantage: number | undefined,
): Promise<boolean> {
  if (advantage !== undefined) {
    const told = await persist(() => client.reward(key, { reward, advantage, interaction }), stop);
    if (told.kind !== 'answer') return false;
  }
  return (await persist(() => client.end(key), stop)).kind === 'answer';
}
