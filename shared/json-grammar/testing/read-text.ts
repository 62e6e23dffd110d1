import type { Matcher, MatchState } from '../matcher.ts';

/** The state after a whole text; undefined if the matcher refuses some code point of it. */
export function readText(matcher: Matcher, text: string): MatchState | undefined {
  let state: MatchState | undefined = matcher.start;
  for (const character of text) state = state && matcher.next(state, character.codePointAt(0)!);
  return state;
}

export const matchesWhole = (matcher: Matcher, text: string): boolean =>
  readText(matcher, text)?.canEnd === true;
