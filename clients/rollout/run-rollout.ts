import { monotonicNow } from '../../shared/runtime/clock.ts';
import type { EndedSession, Reward, SessionClient, SessionStep } from '../api-client.ts';
import { compareSteps, type StepSettings } from './compare-steps.ts';
import { type Failure, failed, interrupted } from './failures.ts';
import { type AdvantageKind, advantagesOf } from './group.ts';
import { persist } from './persist.ts';
import type { Task } from './read-tasks.ts';
import { type Attempt, type AttemptDeps, type AttemptOutcome, discard, runAttempt } from './run-attempt.ts';
import { stepsOf } from './session-steps.ts';

/** An attempt after all attempts at its task have finished. */
export type Settled = {
  readonly attempt: Attempt;
  readonly outcome: AttemptOutcome;
  /** undefined: failed, or fewer than two attempts at the task were rewarded */
  readonly advantage: number | undefined;
  /** undefined: steps are not compared, or the server did not report them */
  readonly steps?: readonly SessionStep[] | undefined;
  /** whether the server accepted the end of a rewarded session; otherwise it ends when idle, with its reward */
  readonly isEnded: boolean;
  /** choices of its answers that a format guarded; undefined: none are known */
  readonly guarded?: EndedSession['guarded'];
};

type Member = { readonly attempt: Attempt; readonly outcome: AttemptOutcome };
type RewardedMember = Member & { readonly outcome: Extract<AttemptOutcome, { readonly kind: 'rewarded' }> };

export type RolloutDeps = Omit<AttemptDeps, 'inUse'> & {
  readonly concurrency: number;
  readonly advantage: AdvantageKind;
  /** how steps are compared; undefined: they are not */
  readonly steps?: (StepSettings & { readonly votesTimeoutMs: number }) | undefined;
  readonly client: AttemptDeps['client'] & Pick<SessionClient, 'steps'>;
  /** begins no further task once this many tasks gave different rewards; undefined: works on all tasks */
  readonly informative?: number | undefined;
  /** indices of tasks that an earlier part of this rollout finished, and how many of them gave different rewards */
  readonly finished?: { readonly tasks: ReadonlySet<number>; readonly informative: number } | undefined;
  readonly onAttempt: (outcome: AttemptOutcome) => void;
  /** called when all advantages of a task are sent, before its sessions end */
  readonly onEnding?: (index: number, settled: readonly Settled[]) => void;
  readonly onSettled: (settled: readonly Settled[]) => void;
};

/**
 * Runs n attempts at each task, each in its own session. When all attempts at a task are finished, it sends
 * their advantages and ends their sessions.
 */
export async function runRollout(tasks: readonly Task[], n: number, deps: RolloutDeps): Promise<void> {
  let informative = deps.finished?.informative ?? 0;
  const attemptDeps = { ...deps, inUse: { count: 0 } };
  function* attempts(): Generator<Attempt> {
    for (const [index, task] of tasks.entries()) {
      if (deps.finished?.tasks.has(index)) continue;
      if (informative >= (deps.informative ?? Number.POSITIVE_INFINITY)) return;
      for (let attempt = 0; attempt < n; attempt++) yield { task, index, attempt, rank: index * n + attempt };
    }
  }
  const groups = new Map<number, Member[]>();
  const settling: Promise<void>[] = [];
  const next = attempts();
  const worker = async (): Promise<void> => {
    for (const attempt of next) {
      const outcome = deps.stop.aborted ? neverStarted(deps.stop) : await runAttempt(attempt, attemptDeps);
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

const neverStarted = (stop: AbortSignal): AttemptOutcome => ({
  kind: 'failed',
  ...interrupted(stop, 'stopped before it started'),
  session: undefined,
  earlier: [],
  ms: 0,
});

async function settle(group: readonly Member[], deps: RolloutDeps): Promise<void> {
  const halted = haltOf(group, deps);
  const comparisons = halted === undefined ? await compare(group, deps) : new Map();
  const compared: Settled[] = [];
  for (const member of group.toSorted((a, b) => a.attempt.rank - b.attempt.rank))
    compared.push(await send(member, { ...comparisons.get(member), halted }, deps));
  if (halted === undefined) deps.onEnding?.(group[0]!.attempt.index, compared);
  // one at a time, in order of start: a batch formed from the first sessions makes later samples staler
  const settled: Settled[] = [];
  for (const one of compared) settled.push(await end(one, deps));
  deps.onSettled(settled);
}

/** The comparison with the other attempts, which an attempt's last reward sends. */
type Comparison = Pick<Reward, 'steps'> & {
  readonly advantage?: number | undefined;
  /** the advantage that goes up the conversation tree */
  readonly sent?: number | undefined;
  readonly known?: readonly SessionStep[] | undefined;
};

/** Compares the rewarded attempts of a group with each other, and on request their steps. */
async function compare(
  group: readonly Member[],
  { client, stop, advantage: kind, steps: settings }: RolloutDeps,
): Promise<ReadonlyMap<Member, Comparison>> {
  const rewarded = group.filter((member): member is RewardedMember => member.outcome.kind === 'rewarded');
  const advantages = advantagesOf(
    rewarded.map(({ outcome }) => outcome.reward),
    kind,
  );
  if (settings === undefined)
    return new Map(
      rewarded.map((member, at) => [member, { advantage: advantages[at], sent: advantages[at] }]),
    );
  // Without steps a server would count the votes on a lone attempt as they are.
  if (rewarded.length < 2) return new Map(rewarded.map((member) => [member, { steps: [] }]));
  const deadline = monotonicNow() + settings.votesTimeoutMs;
  const known = await Promise.all(
    rewarded.map(({ outcome }) => stepsOf(client, outcome.session.key, { deadline, stop })),
  );
  const compared = compareSteps(
    rewarded.map(({ outcome: { reward, states } }, at) => ({
      reward,
      advantage: advantages[at]!,
      steps: known[at],
      states,
    })),
    settings,
  );
  return new Map(
    rewarded.map((member, at) => {
      const { advantage: sent, steps } = compared[at]!;
      return [member, { advantage: advantages[at], sent, steps, known: known[at] }];
    }),
  );
}

/** Why the rewarded attempts at a task do not train; undefined: they do. */
function haltOf(
  group: readonly { readonly outcome: AttemptOutcome }[],
  { stop, environments }: RolloutDeps,
): Failure | undefined {
  if (stop.aborted) return interrupted(stop, 'stopped before the other attempts at its task finished');
  const excluded = group.filter(({ outcome }) => outcome.kind === 'failed').length;
  // Failures of an environment are rarely random: the attempts that it spared are a biased selection.
  if (environments === undefined || excluded * 2 <= group.length) return undefined;
  return failed('mostly-excluded', `${excluded} of ${group.length} attempts failed`);
}

/** Sends how a rewarded attempt compares; `isEnded`: its session may end. A halted one is discarded. */
async function send(
  { attempt, outcome }: Member,
  { advantage, sent, steps, known, halted }: Comparison & { readonly halted: Failure | undefined },
  deps: RolloutDeps,
): Promise<Settled> {
  const none = { attempt, outcome, advantage: undefined, isEnded: false };
  if (outcome.kind === 'failed') return none;
  const { session, reward, interaction } = outcome;
  if (halted !== undefined) {
    await discard(deps, session);
    return { ...none, outcome: { ...outcome, kind: 'failed', ...halted, session: session.session } };
  }
  const isSent =
    (sent === undefined && steps === undefined) ||
    (
      await persist(
        () => deps.client.reward(session.key, { reward, advantage: sent, interaction, steps }),
        deps.stop,
      )
    ).kind === 'answer';
  return { attempt, outcome, advantage, steps: known, isEnded: isSent };
}

/** Ends the session of a rewarded attempt. */
async function end(one: Settled, { client, stop }: RolloutDeps): Promise<Settled> {
  const { outcome, isEnded } = one;
  if (outcome.kind !== 'rewarded' || !isEnded) return { ...one, isEnded: false };
  const ended = await persist(() => client.end(outcome.session.key), stop);
  return ended.kind === 'answer' ? { ...one, guarded: ended.value.guarded } : { ...one, isEnded: false };
}
