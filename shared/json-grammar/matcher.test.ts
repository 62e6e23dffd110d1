import { expect, test } from 'vitest';
import { createRandom } from '../policy/model/random.ts';
import { createMatcher, type Matcher, type MatchState } from './matcher.ts';
import { choice, type Pattern, rule, sequence, text, withoutDeadEnds } from './pattern.ts';
import { regexPattern } from './regex-pattern.ts';

function matcherOf(source: string): Matcher {
  return createMatcher(withoutDeadEnds(regexPattern(source, true))!);
}

/** The states that are cached behind the first state, which lives as long as the matcher. */
function cachedBehind({ start }: Matcher): { readonly states: number; readonly places: number } {
  const seen = new Set<MatchState>([start]);
  let places = 0;
  for (const state of seen) {
    places += state.places.length;
    for (const next of state.after.values()) if (next !== undefined) seen.add(next);
  }
  return { states: seen.size, places };
}

test('the cache is bounded for a pattern with exponentially many states', () => {
  const random = createRandom('states');
  const matcher = matcherOf('(?:a|b)*a(?:a|b){100}');
  let [states, places] = [0, 0];
  for (let answer = 0; answer < 12; answer++) {
    let state: MatchState | undefined = matcher.start;
    for (let codePoint = 0; codePoint < 2_000; codePoint++) {
      matcher.beginToken();
      state = matcher.next(state!, random() < 0.5 ? 97 : 98);
    }
    expect(state).toBeDefined();
    const now = cachedBehind(matcher);
    [states, places] = [Math.max(states, now.states), Math.max(places, now.places)];
  }
  expect(states).toBeLessThan(5_100);
  expect(places).toBeLessThan(250_000);
});

test('an answer after one that was too costly starts with a full budget', () => {
  const matcher = matcherOf('a*|(?:b|b?){3}c(?:.?x?){2000}');
  const readsLong = () => {
    let state: MatchState | undefined = matcher.next(matcher.start, 99);
    for (let codePoint = 0; codePoint < 2_000; codePoint++) state = matcher.next(state!, 120);
  };
  expect(readsLong).toThrow(/takes too long/);
  let state: MatchState | undefined = matcher.start;
  for (let codePoint = 0; codePoint < 10; codePoint++) state = matcher.next(state!, 97);
  expect(state?.canEnd).toBe(true);
});

test('dead ends among a thousand interdependent rules are found in linear time', () => {
  let resolved = 0;
  const rules: Pattern[] = Array.from({ length: 1_000 }, (_, at) =>
    rule(() => {
      resolved++;
      if (at === 0) return choice(text('.'), sequence(text('a'), rules[1]!));
      const others = [rules[at - 1]!, rules[at + 1] ?? rules[at]!];
      return choice(...others.map((other) => sequence(text('a'), other)));
    }),
  );
  expect(withoutDeadEnds(rules[0]!)).toBeDefined();
  expect(resolved).toBeLessThan(10_000);
});
