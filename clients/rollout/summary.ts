import { mean } from '../../shared/lang/numbers.ts';
import { formatTable } from '../../shared/runtime/table.ts';
import type { SessionStep } from '../api-client.ts';
import { type FailureKind, failures } from './failures.ts';
import { type GuardedEntropy, guardedEntropy, guardedLines } from './guarded-entropy.ts';
import type { Settled } from './run-rollout.ts';

/** Result of a rollout. */
export type Summary = {
  readonly rewarded: number;
  readonly failed: number;
  /** tries that were followed by a retry */
  readonly retried: number;
  readonly meanReward: number | undefined;
  /** tasks with fewer than two rewarded attempts, and so without advantages */
  readonly withoutAdvantage: number;
  readonly tasks: number;
  /** tasks whose attempts all got the same reward: their advantages are 0 */
  readonly withoutSpread: number;
  /** those of them whose attempts earned nothing: their reward was 0 or less */
  readonly withoutSuccess: number;
  /** choices that a format left between several tokens; undefined: there were none */
  readonly guarded: GuardedEntropy | undefined;
  /** steps of rewarded attempts, by the votes on them; undefined: steps are not compared */
  readonly votes: Readonly<Record<SessionStep['votes'], number>> | undefined;
  /** rewarded attempts whose session could not be ended */
  readonly notEnded: number;
  /** by kind: final outcomes, and outcomes that were retried */
  readonly kinds: readonly (readonly [
    FailureKind | 'rewarded',
    { readonly attempts: number; readonly retried: number },
  ])[];
};

export function summarise(settled: readonly Settled[]): Summary {
  const rewards = settled.flatMap(({ outcome }) => (outcome.kind === 'rewarded' ? [outcome.reward] : []));
  const groups = [...Map.groupBy(settled, ({ attempt }) => attempt.index).values()];
  const names: readonly (FailureKind | 'rewarded')[] = [
    'rewarded',
    ...(Object.keys(failures) as FailureKind[]),
  ];
  const kindOf = ({ outcome }: Settled) => (outcome.kind === 'rewarded' ? outcome.kind : outcome.failure);
  const kinds = names.map((kind) => {
    const attempts = settled.filter((attempt) => kindOf(attempt) === kind).length;
    const tries = settled.flatMap(({ outcome }) => outcome.earlier);
    return [kind, { attempts, retried: tries.filter((failure) => failure === kind).length }] as const;
  });
  return {
    rewarded: rewards.length,
    failed: settled.length - rewards.length,
    retried: settled.reduce((sum, { outcome }) => sum + outcome.earlier.length, 0),
    meanReward: rewards.length === 0 ? undefined : mean(rewards),
    withoutAdvantage: groups.filter((group) => compared(group).length === 0).length,
    tasks: groups.length,
    withoutSpread: groups.filter(isFlat).length,
    withoutSuccess: groups.filter((group) => isFlat(group) && group.every(earnedNothing)).length,
    guarded: guardedEntropy(settled.flatMap(({ guarded }) => guarded ?? [])),
    votes: votesOn(settled),
    notEnded: settled.filter(({ outcome, isEnded }) => outcome.kind === 'rewarded' && !isEnded).length,
    kinds: kinds.filter(([, { attempts, retried }]) => attempts + retried > 0),
  };
}

function votesOn(settled: readonly Settled[]): Summary['votes'] {
  if (settled.every(({ steps }) => steps === undefined)) return undefined;
  const all = settled.flatMap(({ steps = [] }) => steps);
  const count = (kind: SessionStep['votes']) => all.filter(({ votes }) => votes === kind).length;
  return {
    complete: count('complete'),
    none: count('none'),
    missing: count('missing'),
    pending: count('pending'),
  };
}

function describeVotes(votes: Summary['votes']): readonly string[] {
  if (votes === undefined) return ['warning: the server reported no steps, so no process scores count'];
  const { complete, none, missing, pending } = votes;
  const absent = missing + pending;
  const all = complete + none + absent;
  return [
    `the judge voted on ${complete} of ${all} steps`,
    ...(absent === 0
      ? []
      : [
          `votes on ${absent} steps are missing (--process-timeout, --judge-step-deadline-ms): these learn from the outcome alone`,
        ]),
    ...(complete > 0 || all === 0
      ? []
      : ['warning: no vote counts; only a judge with a model votes on steps (--judge-kind openai or model)']),
  ];
}

const compared = (group: readonly Settled[]): readonly number[] =>
  group.flatMap(({ advantage }) => (advantage === undefined ? [] : [advantage]));

const isFlat = (group: readonly Settled[]): boolean =>
  compared(group).length > 0 && compared(group).every((advantage) => advantage === 0);

const earnedNothing = ({ outcome }: Settled): boolean => outcome.kind !== 'rewarded' || outcome.reward <= 0;

/** Share of tasks without spread above which a rollout hardly teaches. */
const MOST_FLAT = 0.8;

/** The summary as a table with remarks. */
export function formatSummary(
  summary: Summary,
  waits: { readonly count: number; readonly ms: number },
  asksForVotes = false,
): string {
  const rows = summary.kinds.map(([kind, { attempts, retried }]) => [
    kind,
    attempts,
    retried,
    kind === 'rewarded' ? '' : failures[kind].about,
  ]);
  const { rewarded, failed, meanReward, tasks, withoutAdvantage, withoutSpread, notEnded, guarded } = summary;
  return [
    formatTable(['outcome', 'attempts', 'retried', ''], rows),
    '',
    ...(meanReward === undefined
      ? ['no attempt was rewarded']
      : [`mean reward ${meanReward.toFixed(3)} of ${rewarded} attempts`]),
    ...(failed === 0
      ? []
      : [`excluded ${failed} of ${rewarded + failed} attempts: they are not scored and do not train`]),
    ...(waits.count === 0
      ? []
      : [`waited ${waits.count} times for room at the server, ${(waits.ms / 1000).toFixed(1)} s in total`]),
    ...(withoutAdvantage === 0
      ? []
      : [
          `${withoutAdvantage} tasks had fewer than two rewarded attempts, so no advantage was sent for them`,
        ]),
    ...(withoutSpread === 0
      ? []
      : [
          `${withoutSpread} of ${tasks} tasks had the same reward for all attempts, so nothing is learned from them`,
        ]),
    ...(withoutSpread > MOST_FLAT * tasks
      ? [
          'warning: nearly all tasks gave the same reward to all attempts; choose easier or harder tasks, or raise the temperature',
        ]
      : []),
    ...(guarded === undefined ? [] : guardedLines(guarded, summary)),
    ...(asksForVotes ? describeVotes(summary.votes) : []),
    ...(notEnded === 0
      ? []
      : [`${notEnded} sessions could not be ended; they end when idle and keep their reward`]),
  ].join('\n');
}
