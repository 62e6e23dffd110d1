import { formatTable } from '../table.ts';
import { type FailureKind, failures } from './failures.ts';
import type { Settled } from './run-rollout.ts';

/** What a rollout came to. */
export type Summary = {
  readonly rewarded: number;
  readonly failed: number;
  /** tries that were followed by another one */
  readonly triedAgain: number;
  readonly meanReward: number | undefined;
  /** tasks with fewer than two rewarded attempts: no advantage went out */
  readonly withoutAdvantage: number;
  /** tasks whose attempts were all worth the same: their advantages are 0 */
  readonly withoutSpread: number;
  /** rewarded, but the server did not take the end of the session */
  readonly notEnded: number;
  /** by kind: attempts that ended so, and tries that ended so and were followed by another one */
  readonly kinds: readonly (readonly [
    FailureKind | 'rewarded',
    { readonly attempts: number; readonly triedAgain: number },
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
    const attempts = settled.filter((one) => kindOf(one) === kind).length;
    const tries = settled.flatMap(({ outcome }) => outcome.earlier);
    return [kind, { attempts, triedAgain: tries.filter((one) => one === kind).length }] as const;
  });
  return {
    rewarded: rewards.length,
    failed: settled.length - rewards.length,
    triedAgain: settled.reduce((sum, { outcome }) => sum + outcome.earlier.length, 0),
    meanReward:
      rewards.length === 0 ? undefined : rewards.reduce((sum, one) => sum + one, 0) / rewards.length,
    withoutAdvantage: groups.filter((group) => compared(group).length === 0).length,
    withoutSpread: groups.filter(
      (group) => compared(group).length > 0 && compared(group).every((advantage) => advantage === 0),
    ).length,
    notEnded: settled.filter(({ outcome, isEnded }) => outcome.kind === 'rewarded' && !isEnded).length,
    kinds: kinds.filter(([, { attempts, triedAgain }]) => attempts + triedAgain > 0),
  };
}

const compared = (group: readonly Settled[]): readonly number[] =>
  group.flatMap(({ advantage }) => (advantage === undefined ? [] : [advantage]));

/** The table, and what a person should know besides. */
export function formatSummary(
  summary: Summary,
  waits: { readonly count: number; readonly ms: number },
): string {
  const rows = summary.kinds.map(([kind, { attempts, triedAgain }]) => [
    kind,
    attempts,
    triedAgain,
    kind === 'rewarded' ? '' : failures[kind].about,
  ]);
  const { meanReward, withoutAdvantage, withoutSpread, notEnded } = summary;
  return [
    formatTable(['outcome', 'attempts', 'tried again', ''], rows),
    '',
    ...(meanReward === undefined
      ? ['nothing was rewarded']
      : [`mean reward ${meanReward.toFixed(3)} of ${summary.rewarded} attempts`]),
    ...(waits.count === 0
      ? []
      : [`waited ${waits.count} times for room at the server, ${(waits.ms / 1000).toFixed(1)} s in all`]),
    ...(withoutAdvantage === 0
      ? []
      : [`${withoutAdvantage} tasks had fewer than two rewarded attempts: no advantage was sent for those`]),
    ...(withoutSpread === 0
      ? []
      : [
          `${withoutSpread} tasks had attempts of one reward only: their advantages are 0, nothing is learned`,
        ]),
    ...(notEnded === 0
      ? []
      : [
          `${notEnded} sessions could not be ended: they end when their idle time is over, with their reward`,
        ]),
  ].join('\n');
}
