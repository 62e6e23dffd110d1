/** When open pages are told that something changed. */
export type Pace = {
  /** Whether to tell now. Call it only when it will be told. */
  readonly isDue: () => boolean;
  /** Whether the state is the one that was told before. */
  readonly isRepeated: () => boolean;
};

type Settings = {
  readonly cachedMs: number;
  readonly leastMs: number;
  readonly mostMs: number;
  /** Whether many changes wait to be told. */
  readonly isBusy?: () => boolean;
};

/**
 * Pages are told when the state changes, and once more `cachedMs` later: what a page reads after the first message
 * may be a value that was computed shortly before the change. While changes follow each other, the pages are told at
 * growing intervals, up to `mostMs`, and at this interval as long as many changes wait: each message makes every page
 * read again.
 *
 * @param now ms, monotonic
 */
export function createPace(
  state: () => string,
  now: () => number,
  { cachedMs, leastMs, mostMs, isBusy = () => false }: Settings,
): Pace {
  let told: string | undefined;
  let at = 0;
  let changedAt = Number.NEGATIVE_INFINITY;
  let wait = leastMs;
  let repeats = true;
  return {
    isDue: () => {
      const current = state();
      const isNew = current !== told;
      const since = now() - changedAt;
      if (isNew ? since < (isBusy() ? mostMs : wait) : repeats || now() - at <= cachedMs) return false;
      if (isNew) {
        wait = since <= 2 * wait ? Math.min(mostMs, 2 * wait) : leastMs;
        changedAt = now();
      }
      [told, at, repeats] = [current, now(), !isNew];
      return true;
    },
    isRepeated: () => repeats,
  };
}
