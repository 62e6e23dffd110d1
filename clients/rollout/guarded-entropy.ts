import type { EndedSession } from '../api-client.ts';

/** How much the policy still varies where a format leaves it a choice. */
export type GuardedEntropy = {
  /** number of choices between several tokens */
  readonly choices: number;
  /** mean entropy of a choice, estimated from the sampled tokens */
  readonly nats: number;
  /** part of the entropy of equally likely tokens */
  readonly share: number;
};

/** The entropy of the guarded choices of some sessions; undefined: there were none. */
export function guardedEntropy(
  sessions: readonly NonNullable<EndedSession['guarded']>[],
): GuardedEntropy | undefined {
  const sum = (name: 'count' | 'nats' | 'most') => sessions.reduce((total, one) => total + one[name], 0);
  const choices = sum('count');
  return choices === 0
    ? undefined
    : { choices, nats: sum('nats') / choices, share: sum('nats') / sum('most') };
}

/** Share below which the policy nearly always chooses the same. */
const COLLAPSED = 0.1;

/**
 * The entropy in words. A policy that has learned its tasks hardly varies either, so there is a warning only while
 * most of the tasks without spread are without success.
 */
export function guardedLines(
  { choices, nats, share }: GuardedEntropy,
  { withoutSpread, withoutSuccess }: { readonly withoutSpread: number; readonly withoutSuccess: number },
): readonly string[] {
  const hasCollapsed = share < COLLAPSED && withoutSuccess * 2 > withoutSpread;
  return [
    `guarded choices: mean entropy ${nats.toFixed(3)} nats, ${Math.round(share * 100)} % of the most possible (${choices} choices)`,
    ...(hasCollapsed
      ? [
          'warning: exploration has collapsed: the policy nearly always makes the same guarded choice, and most tasks without spread earn nothing; raise the temperature, or go back to an earlier version',
        ]
      : []),
  ];
}
