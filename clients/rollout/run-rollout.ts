import { type Failure, failed } from './failures.ts';
import { type AdvantageKind, advantagesOf } from './group.ts';
import { persist } from './persist.ts';
import type { Task } from './read-tasks.ts';
import { type Attempt, type AttemptDeps, type AttemptOutcome, discard, runAttempt } from './run-attempt.ts';

/** An attempt after all attempts at its task have finished. */
export type Settled = {
  readonly attempt: Attempt;
  readonly outcome: AttemptOutcome;
  /** undefined: failed, or fewer than two attempts at the task were rewarded */
  readonly advantage: number | undefined;
  /** whether the server accepted the end of a rewarded session; otherwise it ends when idle, with its reward */
  readonly isEnded: boolean;
};

export type RolloutDeps = Omit<AttemptDeps, 'inUse'> & {
  readonly concurrency: number;
  readonly advantage: AdvantageKind;
  /** begins no further task once this many tasks gave different rewards; undefined: works on all tasks */
  readonly informative?: number | undefined;
  readonly onAttempt: (outcome: AttemptOutcome) => void;
  readonly onSettled: (settled: readonly Settled[]) => void;
};

/**
 * Runs n attempts at each task, each in its own session. When all attempts at a task are finished, it sends
 * their advantages and ends their sessions.
 */
export async function runRollout(tasks: readonly Task[], n: number, deps: RolloutDeps): Promise<void> {
  let informative = 0;
  const attemptDeps = { ...deps, inUse: { count: 0 } };
  function* attempts(): Generator<Attempt> {
    for (const [index, task] of tasks.entries()) {
      if (informative >= (deps.informative ?? Number.POSITIVE_INFINITY)) return;
      for (let attempt = 0; attempt < n; attempt++) yield { task, index, attempt, rank: index * n + attempt };
    }
  }
  const groups = new Map<number, { readonly attempt: Attempt; readonly outcome: AttemptOutcome }[]>();
  const settling: Promise<void>[] = [];
  const next = attempts();
  const worker = async (): Promise<void> => {
    for (const attempt of next) {
      const outcome = deps.stop.aborted ? neverStarted : await runAttempt(attempt, attemptDeps);
      deps.onAttempt(outcome);
      const group = groups.get(attempt.index) ?? [];
      groups.set(attempt.index, [...group, { attempt, outcome }]);
      if (group.length + 1 < n) continue;
      if (differs(groups.get(attempt.index)!)) informative++;
      settling.push(settle(groups.get(attempt.index)!, deps));
    }
  };
  await Promise.all(Array.from({ length: deps.concurrency }, worker));
  await Promise.all(settling);
}

/** Whether the rewards of a group differ, so that it teaches something. */
const differs = (group: readonly { readonly outcome: AttemptOutcome }[]): boolean =>
  new Set(group.flatMap(({ outcome }) => (outcome.kind === 'rewarded' ? [outcome.reward] : []))).size > 1;

const neverStarted: AttemptOutcome = {
  kind: 'failed',
  ...failed('interrupted', 'stopped before it started'),
  session: undefined,
  earlier: [],
  ms: 0,
};

async function settle(
  group: readonly { readonly attempt: Attempt; readonly outcome: AttemptOutcome }[],
  deps: RolloutDeps,
): Promise<void> {
  const rewards = group.flatMap(({ outcome }) => (outcome.kind === 'rewarded' ? [outcome.reward] : []));
  const advantages = advantagesOf(rewards, deps.advantage).values();
  const advantageOf = new Map(
    group.flatMap(({ attempt, outcome }) =>
      outcome.kind === 'rewarded' ? [[attempt, advantages.next().value] as const] : [],
    ),
  );
  const halted = haltOf(group, deps);
  // one at a time, in order of start: a batch formed from the first sessions makes later samples staler
  const settled: Settled[] = [];
  for (const { attempt, outcome } of group.toSorted((a, b) => a.attempt.rank - b.attempt.rank))
    settled.push(
      await settleOne({ attempt, outcome }, { advantage: advantageOf.get(attempt), halted }, deps),
    );
  deps.onSettled(settled);
}

/** Why the rewarded attempts at a task do not train; undefined: they do. */
function haltOf(
  group: readonly { readonly outcome: AttemptOutcome }[],
  { stop, environments }: RolloutDeps,
): Failure | undefined {
  if (stop.aborted) return failed('interrupted', 'stopped before the other attempts at its task finished');
  const excluded = group.filter(({ outcome }) => outcome.kind === 'failed').length;
  // Failures of an environment are rarely random: the attempts that it spared are a biased selection.
  if (environments === undefined || excluded * 2 <= group.length) return undefined;
  return failed('mostly-excluded', `${excluded} of ${group.length} attempts failed`);
}

async function settleOne(
  { attempt, outcome }: { readonly attempt: Attempt; readonly outcome: AttemptOutcome },
  { advantage, halted }: { readonly advantage: number | undefined; readonly halted: Failure | undefined },
  deps: RolloutDeps,
): Promise<Settled> {
  const none = { attempt, outcome, advantage: undefined, isEnded: false };
  if (outcome.kind === 'failed') return none;
  if (halted !== undefined) {
    await discard(deps, outcome.session);
    return { ...none, outcome: { ...outcome, kind: 'failed', ...halted, session: outcome.session.session } };
  }
  const isEnded = await sendAdvantageAndEnd(deps, outcome.session.key, outcome, advantage);
  return { attempt, outcome, advantage, isEnded };
}

async function sendAdvantageAndEnd(
  { client, stop }: RolloutDeps,
  key: string,
  { reward, interaction }: { readonly reward: number; readonly interaction: string },
  advantage: number | undefined,
): Promise<boolean> {
  if (advantage !== undefined) {
    const sent = await persist(() => client.reward(key, { reward, advantage, interaction }), stop);
    if (sent.kind !== 'answer') return false;
  }
  return (await persist(() => client.end(key), stop)).kind === 'answer';
}
