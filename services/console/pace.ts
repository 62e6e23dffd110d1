/** When open pages are told that something changed. */
export type Pace = {
  /** Whether to tell now. Call it only when it will be told. */
  readonly isDue: () => boolean;
  /** Whether the state is the one that was told before. */
  readonly isRepeated: () => boolean;
};

/**
 * Pages are told when the state changes, and once more `cachedMs` later: what a page reads after the first message
 * may be a value that was computed shortly before the change.
 *
 * @param now ms, monotonic
 */
export function createPace(state: () => string, now: () => number, cachedMs: number): Pace {
  let told: string | undefined;
  let at = 0;
  let repeats = true;
  return {
    isDue: () => {
      const current = state();
      const isNew = current !== told;
      if (!isNew && (repeats || now() - at <= cachedMs)) return false;
      [told, at, repeats] = [current, now(), !isNew];
      return true;
    },
    isRepeated: () => repeats,
  };
}
