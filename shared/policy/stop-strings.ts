export type StopMatcher = {
  /** Takes the next part of a text and gives what can be shown of it. After a match it gives nothing more. */
  push(part: string): StopResult;
  /** At the end of the text: what was held back, since no stop string came of it. */
  flush(): string;
};

export type StopResult = {
  readonly text: string;
  /** The stop string that was completed. It is not part of any `text`. */
  readonly stop: string | undefined;
};

/**
 * Finds stop strings in a text that comes in parts, and holds back only what may still become one. The stop
 * string that is complete first wins (of several that end at one place, the longest), so that the outcome
 * does not depend on how the text was cut. Empty stop strings are ignored.
 */
export function createStopMatcher(stops: readonly string[]): StopMatcher {
  const wanted = [...new Set(stops)].filter((stop) => stop.length > 0).sort((a, b) => b.length - a.length);
  let held = '';
  let stopped = false;
  return {
    push(part) {
      if (stopped) return { text: '', stop: undefined };
      const text = held + part;
      const match = firstToEnd(text, wanted);
      if (match !== undefined) {
        stopped = true;
        held = '';
        return { text: text.slice(0, match.end - match.stop.length), stop: match.stop };
      }
      const keep = heldBack(text, wanted);
      held = text.slice(text.length - keep);
      return { text: text.slice(0, text.length - keep), stop: undefined };
    },
    flush() {
      const rest = held;
      held = '';
      return rest;
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

/** Length of the longest end of the text that begins a stop string. */
function heldBack(text: string, stops: readonly string[]): number {
  const longest = Math.min(text.length, (stops[0]?.length ?? 0) - 1);
  for (let length = longest; length > 0; length--) {
    const end = text.slice(text.length - length);
    if (stops.some((stop) => stop.length > length && stop.startsWith(end))) return length;
  }
  return 0;
}
