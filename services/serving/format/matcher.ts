import { hasLetter, hasLetterWithin, type Letters, lettersOf } from './letters.ts';
import { nothing, type Pattern } from './pattern.ts';

/** Where the reading of a text stands: all places of the pattern at which its next letter may be. */
export type MatchState = {
  readonly places: readonly Place[];
  /** The text may end here. */
  readonly canEnd: boolean;
  /** What is known of the states after it, by letter. */
  readonly after: Map<number, MatchState | undefined>;
};

/** A part of the pattern and what follows it. `at`: letters, parts or rounds of it that are behind. */
type Place = {
  readonly id: number;
  readonly pattern: Pattern;
  readonly at: number;
  /** Undefined: the end of the text. */
  readonly next: Place | undefined;
};

export type Matcher = {
  readonly start: MatchState;
  /** The state after one more letter; undefined: no text of the pattern begins so. */
  readonly next: (state: MatchState, letter: number) => MatchState | undefined;
  /** Begins the work of another token: each may cost so much and no more. */
  readonly rest: () => void;
  /** Whether some letter from `from` to `to` may come next. */
  readonly mayBeWithin: (state: MatchState, from: number, to: number) => boolean;
};

/** Places that a state may have: a pattern that is ambiguous beyond this costs too much with every letter. */
const MOST_PLACES = 5_000;
/** Steps without a letter from the places of one state to those of the next. */
const MOST_STEPS = 4 * MOST_PLACES;
/** Places that are looked at for one token; what is known already costs nothing. */
const MOST_WORK = 500_000;
/** States that are remembered, and places of them all; then all are forgotten. */
const MOST_STATES = 5_000;
const MOST_REMEMBERED = 200_000;
/** Places that are remembered, those between states included; each takes about half a kilobyte. */
const MOST_MADE = 100_000;

/**
 * Reads texts of a pattern letter by letter, all ways at once (a pushdown automaton whose states are made as
 * they are met).
 * @param refusal what is thrown, also amid a text, for a pattern that costs too much
 */
export function createMatcher(pattern: Pattern, refusal: (why: string) => Error): Matcher {
  let nextId = 0;
  let work = 0;
  /** It is no fault of the next answer. */
  const refuse = (why: string): Error => {
    work = 0;
    return refusal(why);
  };
  const newPlace = (of: Pattern, at: number, next: Place | undefined): Place => ({
    id: nextId++,
    pattern: of,
    at,
    next,
  });
  const end = newPlace(nothing, 0, undefined);
  /** By what follows them: one object for each, so that equal ones are the same. */
  const places = new Map<Place, Map<Pattern, Map<number, Place>>>();
  /** Places in it. */
  let made = 0;
  const placeOf = (of: Pattern, at: number, next: Place): Place => {
    const byPattern = places.get(next) ?? new Map<Pattern, Map<number, Place>>();
    if (byPattern.size === 0) places.set(next, byPattern);
    const byAt = byPattern.get(of) ?? new Map<number, Place>();
    if (byAt.size === 0) byPattern.set(of, byAt);
    const known = byAt.get(at);
    if (known !== undefined) return known;
    const place = newPlace(of, at, next);
    byAt.set(at, place);
    made += 1;
    return place;
  };

  /** Where a place leads without a letter. */
  const onward = ({ pattern: of, at, next }: Place, to: Place[]): void => {
    if (next === undefined) return;
    switch (of.kind) {
      case 'sequence': {
        if (at === of.parts.length) to.push(next);
        else to.push(placeOf(of.parts[at]!, 0, at + 1 < of.parts.length ? placeOf(of, at + 1, next) : next));
        return;
      }
      case 'choice':
        for (const one of of.of) to.push(placeOf(one, 0, next));
        return;
      case 'repeat': {
        if (at >= of.least) to.push(next);
        const rounds = of.most === Number.POSITIVE_INFINITY ? Math.min(at + 1, of.least) : at + 1;
        if (at < of.most) to.push(placeOf(of.of, 0, placeOf(of, rounds, next)));
        return;
      }
      case 'rule':
        to.push(placeOf(of.of(), 0, next));
    }
  };

  /** Letters that may come next, by state, once they were asked for. */
  const nextLetters = new WeakMap<MatchState, Letters>();
  let start: MatchState | undefined;
  const states = new Map<string, MatchState>();
  /** Places of all states. */
  let remembered = 0;
  /** Each state knows those after it, and whoever reads an answer holds one: so they forget that, too. */
  const forget = (): void => {
    for (const { after } of states.values()) after.clear();
    start?.after.clear();
    states.clear();
    places.clear();
    remembered = 0;
    made = 0;
  };
  const stateOf = (open: Place[]): MatchState | undefined => {
    const visited = new Set<Place>();
    const found: Place[] = [];
    let canEnd = false;
    let steps = 0;
    for (let place = open.pop(); place !== undefined; place = open.pop()) {
      if (visited.has(place)) continue;
      visited.add(place);
      steps += place.pattern.kind === 'choice' ? place.pattern.of.length : 1;
      if (steps > MOST_STEPS || found.length > MOST_PLACES)
        throw refuse('there are too many ways to read an answer of this format');
      if (place === end) canEnd = true;
      else if (place.pattern.kind === 'letters' || place.pattern.kind === 'text') found.push(place);
      else onward(place, open);
    }
    work += steps;
    if (found.length === 0 && !canEnd) return undefined;
    const key = `${canEnd}${found.map(({ id }) => id).join()}`;
    const known = states.get(key);
    if (known !== undefined) return known;
    if (states.size >= MOST_STATES || remembered >= MOST_REMEMBERED || made >= MOST_MADE) forget();
    const state: MatchState = { places: found, canEnd, after: new Map() };
    states.set(key, state);
    remembered += found.length;
    return state;
  };

  const look = (count: number): void => {
    work += count;
    if (work > MOST_WORK) throw refuse('it takes too long to tell which tokens are of this format');
  };
  const read = ({ places: here }: MatchState, letter: number): MatchState | undefined => {
    const open: Place[] = [];
    look(here.length);
    for (const { pattern: of, at, next } of here) {
      if (of.kind === 'letters' && hasLetter(of.set, letter)) open.push(next!);
      if (of.kind === 'text' && of.letters[at] === letter)
        open.push(at + 1 === of.letters.length ? next! : placeOf(of, at + 1, next!));
    }
    return open.length === 0 ? undefined : stateOf(open);
  };

  start = stateOf([placeOf(pattern, 0, end)]);
  if (start === undefined) throw refusal('no answer is of this format');
  return {
    start,
    next: (state, letter) => {
      const { after } = state;
      if (after.has(letter)) return after.get(letter);
      const next = read(state, letter);
      after.set(letter, next);
      return next;
    },
    rest: () => {
      work = 0;
    },
    mayBeWithin: (state, from, to) => {
      const known = nextLetters.get(state);
      if (known !== undefined) return hasLetterWithin(known, from, to);
      const ranges = state.places.flatMap(rangesAt);
      look(ranges.length);
      const all = lettersOf(ranges);
      nextLetters.set(state, all);
      return hasLetterWithin(all, from, to);
    },
  };
}

/** Letters that may come next at a place. */
function rangesAt({ pattern: of, at }: Place): Letters {
  if (of.kind === 'letters') return of.set;
  if (of.kind !== 'text') return [];
  const letter = of.letters[at]!;
  return [[letter, letter]];
}
