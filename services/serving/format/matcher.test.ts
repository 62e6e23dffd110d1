import { expect, test } from 'vitest';
import { createRandom } from '../../../shared/policy/random.ts';
import { createMatcher, type Matcher, type MatchState } from './matcher.ts';
import { choice, type Pattern, rule, sequence, text, withoutDeadEnds } from './pattern.ts';
import { isFault, regexPattern } from './regex-pattern.ts';

function matcherOf(source: string): Matcher {
  const pattern = regexPattern(source, true);
  if (isFault(pattern)) throw new Error(pattern.fault);
  return createMatcher(withoutDeadEnds(pattern)!, (why) => new Error(why));
}

/** What is reached from the first state, which lives as long as the matcher. */
function remembered({ start }: Matcher): { readonly states: number; readonly places: number } {
  const seen = new Set<MatchState>([start]);
  let places = 0;
  for (const state of seen) {
    places += state.places.length;
    for (const next of state.after.values()) if (next !== undefined) seen.add(next);
  }
  return { states: seen.size, places };
}

test('of a pattern that has as many states as there are answers, only so many are remembered', () => {
  const random = createRandom('states');
  const matcher = matcherOf('(?:a|b)*a(?:a|b){100}');
  let [states, places] = [0, 0];
  for (let answer = 0; answer < 12; answer++) {
    let state: MatchState | undefined = matcher.start;
    for (let letter = 0; letter < 2_000; letter++) {
      matcher.rest();
      state = matcher.next(state!, random() < 0.5 ? 97 : 98);
    }
    expect(state).toBeDefined();
    const now = remembered(matcher);
    [states, places] = [Math.max(states, now.states), Math.max(places, now.places)];
  }
  expect(states).toBeLessThan(5_100);
  expect(places).toBeLessThan(250_000);
});

test('what one answer cost too much for is not told of the next one', () => {
  const matcher = matcherOf('a*|(?:b|b?){3}c(?:.?x?){2000}');
  const readsLong = () => {
    let state: MatchState | undefined = matcher.next(matcher.start, 99);
    for (let letter = 0; letter < 2_000; letter++) state = matcher.next(state!, 120);
  };
  expect(readsLong).toThrow(/takes too long/);
  let state: MatchState | undefined = matcher.start;
  for (let letter = 0; letter < 10; letter++) state = matcher.next(state!, 97);
  expect(state?.canEnd).toBe(true);
});

test('of a thousand rules that need each other, what is possible is told by looking at each a few times', () => {
  let looked = 0;
  const rules: Pattern[] = Array.from({ length: 1_000 }, (_, at) =>
    rule(() => {
      looked++;
      if (at === 0) return choice(text('.'), sequence(text('a'), rules[1]!));
      const others = [rules[at - 1]!, rules[at + 1] ?? rules[at]!];
      return choice(...others.map((other) => sequence(text('a'), other)));
    }),
  );
  expect(withoutDeadEnds(rules[0]!)).toBeDefined();
  expect(looked).toBeLessThan(10_000);
});
