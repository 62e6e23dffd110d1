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
  return {
    accepts: (id) => (endTokenIds.has(id) ? canEnd() : after(id) !== undefined),
    take: (id) => {
      matcher.beginToken();
      read = endTokenIds.has(id) ? read : (after(id) ?? read);
    },
    keepOut: (logits) => {
      const accepted = acceptedOf(sortedTokens(tokenizer), matcher, read);
      for (const id of endTokenIds) {
        if (canEnd()) accepted.add(id);
        else accepted.delete(id);
      }
      for (let id = 0; id < logits.length; id++) if (!accepted.has(id)) logits[id] = Number.NEGATIVE_INFINITY;
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

/** All accepted tokens. Reads each shared beginning once. */
function acceptedOf(tokens: readonly Token[], matcher: Matcher, start: ReadBytes): Set<number> {
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
  }
  return accepted;
}

type GuardedSampler = {
  /** Like `sampleToken`, restricted to the tokens that the guard accepts. */
  readonly sample: (
    logits: Float32Array,
    settings: SamplingSettings,
    random: Random,
    history: SamplingHistory,
  ) => SampledToken;
  /** Whether the guard has changed the choice of a token. */
  readonly hasForced: () => boolean;
  /** Whether the guard accepts no further token. */
  readonly isOver: () => boolean;
};

/** Tokens to try one by one before the whole vocabulary is filtered. */
const MOST_TRIES = 16;

/** `sample` throws if the guard accepts no token of the vocabulary. */
export function createGuardedSampler(guard: TokenGuard | undefined): GuardedSampler {
  if (guard === undefined) return { sample: sampleToken, hasForced: () => false, isOver: () => false };
  let hasForced = false;
  return {
    sample: (logits, settings, random, history) => {
      let allowed = logits;
      for (let tries = 0; ; tries++) {
        const { id } = sampleToken(allowed, settings, random, history);
        if (guard.accepts(id)) {
          guard.take(id);
          return { id, logProb: logProbOf(logits, settings.temperature, id) };
        }
        if (allowed === logits) allowed = logits.slice();
        hasForced = true;
        allowed[id] = Number.NEGATIVE_INFINITY;
        if (tries !== MOST_TRIES) continue;
        guard.keepOut(allowed);
        if (allowed.every((logit) => logit === Number.NEGATIVE_INFINITY))
          throw new Error('no token of the vocabulary can continue the answer');
      }
    },
    hasForced: () => hasForced,
    isOver: guard.isOver,
  };
}
