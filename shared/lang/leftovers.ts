import { sum } from './numbers.ts';

/** A file or a folder that nothing uses any more. */
export type Leftover = {
  readonly path: string;
  readonly bytes: number;
  /** ms since 1970 when it was set aside or last used; a rename counts */
  readonly since: number;
};

/** Why a leftover is removed. */
export type Excess = Leftover & { readonly reason: 'age' | 'size' };

export type LeftoverLimit = { readonly maxAgeMs: number; readonly maxBytes: number };

/**
 * Those that exceed the limit, the oldest first: by age, and then by the size of all that are left.
 *
 * @param now ms since 1970
 */
export function excessOf(all: readonly Leftover[], limit: LeftoverLimit, now: number): readonly Excess[] {
  const oldestFirst = all.toSorted((a, b) => a.since - b.since);
  let left = sum(all.map(({ bytes }) => bytes));
  const excess: Excess[] = [];
  for (const one of oldestFirst) {
    const reason = now - one.since > limit.maxAgeMs ? 'age' : left > limit.maxBytes ? 'size' : undefined;
    if (reason === undefined) break;
    excess.push({ ...one, reason });
    left -= one.bytes;
  }
  return excess;
}
