import { type ReadBytes, readByte } from '../../../shared/json-grammar/bytes.ts';
import type { Matcher } from '../../../shared/json-grammar/matcher.ts';
import {
  logProbOf,
  type SampledToken,
  type SamplingHistory,
  type SamplingSettings,
  sampleToken,
} from '../../../shared/policy/decode/sampling.ts';
import type { Random } from '../../../shared/policy/model/random.ts';
import type { Tokenizer } from '../../../shared/policy/text/tokenizer.ts';

/** Which tokens may come next in an answer that must have a certain form. */
export type TokenGuard = {
  readonly accepts: (id: number) => boolean;
  /** Continues with a token that was accepted. */
  readonly take: (id: number) => void;
  /** Sets the logits of all tokens that it does not accept to -Infinity. */
  readonly keepOut: (logits: Float32Array) => void;
  /** All accepted tokens in ascending order; undefined if there are more than `most`. */
  readonly allowed: (most: number) => readonly number[] | undefined;
  /** The answer is complete, and nothing can be added to it. */
  readonly isOver: () => boolean;
};

export type TokenBytes = Pick<Tokenizer, 'bytesOf' | 'vocabularySize'>;
type Model = { readonly tokenizer: TokenBytes; readonly endTokenIds: ReadonlySet<number> };

/** Accepts tokens whose bytes continue a text of the matcher, and end tokens where that text may end. */
export function createTokenGuard({ tokenizer, endTokenIds }: Model, matcher: Matcher): TokenGuard {
  let read: ReadBytes = { state: matcher.start, pending: undefined };
  const canEnd = () => read.pending === undefined && read.state.canEnd;
  const after = (id: number): ReadBytes | undefined => {
    let next: ReadBytes | undefined = read;
    const bytes = tokenizer.bytesOf(id);
    for (let at = 0; at < bytes.length && next !== undefined; at++)
      next = readByte(matcher, next, bytes[at]!);
    return bytes.length === 0 ? undefined : next;
  };
  const allAccepted = (most?: number): Set<number> => {
    const accepted = acceptedOf(sortedTokens(tokenizer), matcher, read, most);
    for (const id of endTokenIds) {
      if (canEnd()) accepted.add(id);
      else accepted.delete(id);
    }
    return accepted;
  };
  return {
    accepts: (id) => (endTokenIds.has(id) ? canEnd() : after(id) !== undefined),
    take: (id) => {
      matcher.beginToken();
      read = endTokenIds.has(id) ? read : (after(id) ?? read);
    },
    keepOut: (logits) => {
      const accepted = allAccepted();
      for (let id = 0; id < logits.length; id++) if (!accepted.has(id)) logits[id] = Number.NEGATIVE_INFINITY;
    },
    allowed: (most) => {
      const accepted = allAccepted(most + endTokenIds.size);
      return accepted.size > most ? undefined : [...accepted].sort((a, b) => a - b);
    },
    isOver: () => canEnd() && read.state.places.length === 0,
  };
}

type Token = { readonly id: number; readonly bytes: Uint8Array };

/** The text tokens of each vocabulary, sorted so that tokens with the same beginning are adjacent. */
const sortedByTokenizer = new WeakMap<TokenBytes, readonly Token[]>();

function sortedTokens(tokenizer: TokenBytes): readonly Token[] {
  const known = sortedByTokenizer.get(tokenizer);
  if (known !== undefined) return known;
  const tokens = Array.from({ length: tokenizer.vocabularySize }, (_, id) => ({
    id,
    bytes: tokenizer.bytesOf(id),
  }))
    .filter(({ bytes }) => bytes.length > 0)
    .sort((one, other) => Buffer.compare(one.bytes, other.bytes));
  sortedByTokenizer.set(tokenizer, tokens);
  return tokens;
}

/** All accepted tokens, or more than `most` of them. Reads each shared beginning once. */
function acceptedOf(
  tokens: readonly Token[],
  matcher: Matcher,
  start: ReadBytes,
  most = tokens.length,
): Set<number> {
  const accepted = new Set<number>();
  const path: ReadBytes[] = [start]; // the state after each accepted byte of the previous token
  let before = new Uint8Array(0);
  for (const { id, bytes } of tokens) {
    let shared = 0;
    while (shared < before.length && shared < bytes.length && before[shared] === bytes[shared]) shared++;
    const wasRefused = path.length <= before.length;
    before = bytes as Uint8Array<ArrayBuffer>;
    if (wasRefused && shared >= path.length) continue; // it begins with the refused bytes
    path.length = Math.min(path.length, shared + 1);
    while (path.length <= bytes.length) {
      const next = readByte(matcher, path.at(-1)!, bytes[path.length - 1]!);
      if (next === undefined) break;
      path.push(next);
    }
    if (path.length > bytes.length) accepted.add(id);
    if (accepted.size > most) break;
  }
  return accepted;
}

/** A token that was sampled among the tokens that a guard accepts. */
type GuardedToken = SampledToken & {
  /** the tokens among which it was sampled, ascending; undefined: all, or too many to record */
  readonly allowed: readonly number[] | undefined;
  /** ln p among all tokens of the vocabulary, at the effective temperature */
  readonly freeLogProb: number;
};

type GuardedSampler = {
  /** Like `sampleToken`, restricted to the tokens that the guard accepts. */
  readonly sample: (
    logits: Float32Array,
    settings: SamplingSettings,
    random: Random,
    history: SamplingHistory,
  ) => GuardedToken;
  /** Whether the guard has changed a choice in a way that no record describes. */
  readonly hasForced: () => boolean;
  /** Whether the guard accepts no further token. */
  readonly isOver: () => boolean;
};

/** Tokens to try one by one before the whole vocabulary is filtered. */
const MOST_TRIES = 16;
/** The largest set of allowed tokens that is recorded, so that the choice among them can train. */
const MOST_ALLOWED = 64;

/** `sample` throws if the guard accepts no token of the vocabulary. */
export function createGuardedSampler(guard: TokenGuard | undefined): GuardedSampler {
  if (guard === undefined)
    return {
      sample: (...input) => {
        const sampled = sampleToken(...input);
        return { ...sampled, allowed: undefined, freeLogProb: sampled.logProb };
      },
      hasForced: () => false,
      isOver: () => false,
    };
  let hasForced = false;
  const sampleAmong = (
    allowed: readonly number[],
    [logits, settings, random, history]: Parameters<GuardedSampler['sample']>,
  ): GuardedToken => {
    if (allowed.length === 0) throw new Error('no token of the vocabulary can continue the answer');
    const restricted = new Float32Array(logits.length).fill(Number.NEGATIVE_INFINITY);
    for (const id of allowed) restricted[id] = logits[id]!;
    const sampled = sampleToken(restricted, settings, random, history);
    guard.take(sampled.id);
    return { ...sampled, allowed, freeLogProb: logProbOf(logits, settings.temperature, sampled.id) };
  };
  const sampleByTrying = ([logits, settings, random, history]: Parameters<
    GuardedSampler['sample']
  >): GuardedToken => {
    let rest = logits;
    for (let tries = 0; ; tries++) {
      const { id } = sampleToken(rest, settings, random, history);
      if (guard.accepts(id)) {
        guard.take(id);
        const logProb = logProbOf(logits, settings.temperature, id);
        return { id, logProb, allowed: undefined, freeLogProb: logProb };
      }
      if (rest === logits) rest = logits.slice();
      hasForced = true;
      rest[id] = Number.NEGATIVE_INFINITY;
      if (tries === MOST_TRIES) guard.keepOut(rest);
    }
  };
  return {
    sample: (...input) => {
      const allowed = guard.allowed(MOST_ALLOWED);
      return allowed === undefined ? sampleByTrying(input) : sampleAmong(allowed, input);
    },
    hasForced: () => hasForced,
    isOver: guard.isOver,
  };
}
