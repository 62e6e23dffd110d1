import { type CodePoints, codePointsOf, hasCodePoint, hasCodePointWithin } from './code-points.ts';
import { grammarError } from './grammar-error.ts';
import { nothing, type Pattern } from './pattern.ts';

/** The state after a part of a text: all places in the pattern where its next code point may be. */
export type MatchState = {
  readonly places: readonly Place[];
  /** The text may end here. */
  readonly canEnd: boolean;
  /** The following states computed so far, by code point. */
  readonly after: Map<number, MatchState | undefined>;
};

/** A position in the pattern. `at`: the code points, parts or repetitions of `pattern` already matched. */
type Place = {
  readonly id: number;
  readonly pattern: Pattern;
  readonly at: number;
  /** The place after `pattern`; undefined: the end of the text. */
  readonly next: Place | undefined;
};

export type Matcher = {
  readonly start: MatchState;
  /** The state after one more code point; undefined if no text of the pattern begins this way. */
  readonly next: (state: MatchState, codePoint: number) => MatchState | undefined;
  /** Resets the work budget. Call it before each token. */
  readonly beginToken: () => void;
  /** Whether some code point from `from` to `to` may come next. */
  readonly mayBeWithin: (state: MatchState, from: number, to: number) => boolean;
};

/** Places of one state: each of them costs time with every code point. */
const MOST_PLACES = 5_000;
/** Steps between the places of one state and those of the next. */
const MOST_STEPS = 4 * MOST_PLACES;
/** Places visited for one token; states computed before cost nothing. */
const MOST_WORK = 500_000;
/** States that are cached, and their places in total; beyond either bound the cache is cleared. */
const MOST_STATES = 5_000;
const MOST_STATE_PLACES = 200_000;
/** Places that are cached, including those between states; each takes about half a kilobyte. */
const MOST_CACHED_PLACES = 100_000;

/**
 * Matches texts of a pattern code point by code point, following all readings at once: a pushdown automaton
 * that computes its states on demand.
 * @throws GrammarError for a pattern that is too costly, also later from `next` and `mayBeWithin`
 */
export const createMatcher = (pattern: Pattern): Matcher => new PatternMatcher(pattern);

class PatternMatcher implements Matcher {
  readonly start: MatchState;
  readonly #places = createPlaces();
  readonly #states = new Map<string, MatchState>();
  /** Code points that may come next, by state; computed on demand. */
  readonly #nextCodePoints = new WeakMap<MatchState, CodePoints>();
  /** Places of all cached states. */
  #statePlaces = 0;
  #work = 0;

  constructor(pattern: Pattern) {
    const start = this.#stateOf([this.#places.of(pattern, 0, this.#places.end)]);
    if (start === undefined) throw grammarError('no answer can match this format');
    this.start = start;
  }

  beginToken(): void {
    this.#work = 0;
  }

  next(state: MatchState, codePoint: number): MatchState | undefined {
    const { after } = state;
    if (after.has(codePoint)) return after.get(codePoint);
    const next = this.#read(state, codePoint);
    after.set(codePoint, next);
    return next;
  }

  mayBeWithin(state: MatchState, from: number, to: number): boolean {
    const known = this.#nextCodePoints.get(state);
    if (known !== undefined) return hasCodePointWithin(known, from, to);
    const ranges = state.places.flatMap(rangesAt);
    this.#spend(ranges.length);
    const all = codePointsOf(ranges);
    this.#nextCodePoints.set(state, all);
    return hasCodePointWithin(all, from, to);
  }

  #read({ places }: MatchState, codePoint: number): MatchState | undefined {
    const open: Place[] = [];
    this.#spend(places.length);
    for (const { pattern: of, at, next } of places) {
      if (of.kind === 'codePoints' && hasCodePoint(of.set, codePoint)) open.push(next!);
      if (of.kind === 'text' && of.codePoints[at] === codePoint)
        open.push(at + 1 === of.codePoints.length ? next! : this.#places.of(of, at + 1, next!));
    }
    return open.length === 0 ? undefined : this.#stateOf(open);
  }

  #stateOf(open: Place[]): MatchState | undefined {
    const places = this.#places;
    const visited = new Set<Place>();
    const waiting: Place[] = []; // for a code point
    let canEnd = false;
    let steps = 0;
    for (let place = open.pop(); place !== undefined; place = open.pop()) {
      if (visited.has(place)) continue;
      visited.add(place);
      steps += place.pattern.kind === 'choice' ? place.pattern.of.length : 1;
      if (steps > MOST_STEPS || waiting.length > MOST_PLACES)
        throw this.#refuse('the format is too ambiguous: there are too many ways to read an answer');
      if (place === places.end) canEnd = true;
      else if (place.pattern.kind === 'codePoints' || place.pattern.kind === 'text') waiting.push(place);
      else places.follow(place, open);
    }
    this.#work += steps;
    return waiting.length === 0 && !canEnd ? undefined : this.#cachedState(waiting, canEnd);
  }

  #cachedState(waiting: readonly Place[], canEnd: boolean): MatchState {
    const key = `${canEnd}${waiting.map(({ id }) => id).join()}`;
    const known = this.#states.get(key);
    if (known !== undefined) return known;
    const isFull =
      this.#states.size >= MOST_STATES ||
      this.#statePlaces >= MOST_STATE_PLACES ||
      this.#places.count() >= MOST_CACHED_PLACES;
    if (isFull) this.#forget();
    const state: MatchState = { places: waiting, canEnd, after: new Map() };
    this.#states.set(key, state);
    this.#statePlaces += waiting.length;
    return state;
  }

  /** Answers in progress hold states that refer to later ones, so those references are cleared too. */
  #forget(): void {
    for (const { after } of this.#states.values()) after.clear();
    this.start?.after.clear(); // undefined in the constructor
    this.#states.clear();
    this.#places.clear();
    this.#statePlaces = 0;
  }

  #spend(count: number): void {
    this.#work += count;
    if (this.#work > MOST_WORK)
      throw this.#refuse('it takes too long to find the tokens that this format allows');
  }

  /** The next answer starts with a full budget. */
  #refuse(reason: string): Error {
    this.#work = 0;
    return grammarError(reason);
  }
}

type Places = {
  /** The end of the text. */
  readonly end: Place;
  /** Equal places are the same object, until the cache is cleared. */
  readonly of: (pattern: Pattern, at: number, next: Place) => Place;
  /** Adds the places that a place leads to without a code point. */
  readonly follow: (place: Place, to: Place[]) => void;
  readonly count: () => number;
  readonly clear: () => void;
};

function createPlaces(): Places {
  let nextId = 0;
  const newPlace = (of: Pattern, at: number, next: Place | undefined): Place => ({
    id: nextId++,
    pattern: of,
    at,
    next,
  });
  const end = newPlace(nothing, 0, undefined);
  /** By `next`, pattern and `at`. */
  const cached = new Map<Place, Map<Pattern, Map<number, Place>>>();
  let cachedPlaces = 0;
  const placeOf = (of: Pattern, at: number, next: Place): Place => {
    const byPattern = cached.get(next) ?? new Map<Pattern, Map<number, Place>>();
    if (byPattern.size === 0) cached.set(next, byPattern);
    const byAt = byPattern.get(of) ?? new Map<number, Place>();
    if (byAt.size === 0) byPattern.set(of, byAt);
    const known = byAt.get(at);
    if (known !== undefined) return known;
    const place = newPlace(of, at, next);
    byAt.set(at, place);
    cachedPlaces += 1;
    return place;
  };

  /** Adds the places that a place leads to without a code point. */
  const follow = ({ pattern: of, at, next }: Place, to: Place[]): void => {
    if (next === undefined) return;
    switch (of.kind) {
      case 'sequence': {
        if (at === of.parts.length) to.push(next);
        else to.push(placeOf(of.parts[at]!, 0, at + 1 < of.parts.length ? placeOf(of, at + 1, next) : next));
        return;
      }
      case 'choice':
        for (const option of of.of) to.push(placeOf(option, 0, next));
        return;
      case 'repeat': {
        if (at >= of.least) to.push(next);
        const repetitions = of.most === Number.POSITIVE_INFINITY ? Math.min(at + 1, of.least) : at + 1;
        if (at < of.most) to.push(placeOf(of.of, 0, placeOf(of, repetitions, next)));
        return;
      }
      case 'rule':
        to.push(placeOf(of.of(), 0, next));
    }
  };
  return {
    end,
    of: placeOf,
    follow,
    count: () => cachedPlaces,
    clear: () => {
      cached.clear();
      cachedPlaces = 0;
    },
  };
}

/** Code points that may come next at a place. */
function rangesAt({ pattern: of, at }: Place): CodePoints {
  if (of.kind === 'codePoints') return of.set;
  if (of.kind !== 'text') return [];
  const codePoint = of.codePoints[at]!;
  return [[codePoint, codePoint]];
}
