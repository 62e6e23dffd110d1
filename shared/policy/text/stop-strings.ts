type StopMatcher = {
  /** Takes the next part of a text and returns the text that can be shown. After a match it returns ''. */
  push(part: string): StopResult;
  /** At the end of the text: the pending text, which did not become a stop string. */
  flush(): string;
};

type StopResult = {
  readonly text: string;
  /** The stop string that was completed. It is not part of any `text`. */
  readonly stop: string | undefined;
};

/**
 * Finds stop strings in a text that comes in parts, and buffers only a possible start of one. The stop string that is
 * complete first wins (of several that end at the same position, the longest), so that the result does not depend on
 * how the text was split. Empty stop strings are ignored.
 */
export function createStopMatcher(stops: readonly string[]): StopMatcher {
  const stopStrings = [...new Set(stops)]
    .filter((stop) => stop.length > 0)
    .sort((a, b) => b.length - a.length);
  let pending = '';
  let stopped = false;
  return {
    push(part) {
      if (stopped) return { text: '', stop: undefined };
      const text = pending + part;
      const match = firstToEnd(text, stopStrings);
      if (match !== undefined) {
        stopped = true;
        pending = '';
        return { text: text.slice(0, match.end - match.stop.length), stop: match.stop };
      }
      const keep = pendingLength(text, stopStrings);
      pending = text.slice(text.length - keep);
      return { text: text.slice(0, text.length - keep), stop: undefined };
    },
    flush() {
      const text = pending;
      pending = '';
      return text;
    },
  };
}

function firstToEnd(text: string, stops: readonly string[]): { stop: string; end: number } | undefined {
  let first: { stop: string; end: number } | undefined;
  for (const stop of stops) {
    const start = text.indexOf(stop);
    const end = start + stop.length;
    if (start !== -1 && (first === undefined || end < first.end)) first = { stop, end };
  }
  return first;
}

/** Length of the longest suffix of the text that is the start of a stop string. */
function pendingLength(text: string, stops: readonly string[]): number {
  const longest = Math.min(text.length, (stops[0]?.length ?? 0) - 1);
  for (let length = longest; length > 0; length--) {
    const end = text.slice(text.length - length);
    if (stops.some((stop) => stop.length > length && stop.startsWith(end))) return length;
  }
  return 0;
}
