import type { Tokenizer } from '../../../shared/policy/tokenizer.ts';
import { type ReadBytes, readByte } from '../format/bytes.ts';
import type { Matcher } from '../format/matcher.ts';
import type { TokenGuard } from './token-guard.ts';

export type TokenBytes = Pick<Tokenizer, 'bytesOf' | 'vocabularySize'>;
type Model = { readonly tokenizer: TokenBytes; readonly endTokenIds: ReadonlySet<number> };

/** Lets tokens through whose bytes go on with a text that the matcher knows, and its end where it can end. */
export function formatTokenGuard({ tokenizer, endTokenIds }: Model, matcher: Matcher): TokenGuard {
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
      matcher.rest();
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

/** The tokens of a vocabulary that are text, those with the same beginning beside each other. */
const sorted = new WeakMap<TokenBytes, readonly Token[]>();

function sortedTokens(tokenizer: TokenBytes): readonly Token[] {
  const known = sorted.get(tokenizer);
  if (known !== undefined) return known;
  const tokens = Array.from({ length: tokenizer.vocabularySize }, (_, id) => ({
    id,
    bytes: tokenizer.bytesOf(id),
  }))
    .filter(({ bytes }) => bytes.length > 0)
    .sort((one, other) => Buffer.compare(one.bytes, other.bytes));
  sorted.set(tokenizer, tokens);
  return tokens;
}

/** What tokens have in common is read once. */
function acceptedOf(tokens: readonly Token[], matcher: Matcher, start: ReadBytes): Set<number> {
  const accepted = new Set<number>();
  const path: ReadBytes[] = [start]; // after each byte of the token before, as far as it was accepted
  let before = new Uint8Array(0);
  for (const { id, bytes } of tokens) {
    let shared = 0;
    while (shared < before.length && shared < bytes.length && before[shared] === bytes[shared]) shared++;
    const wasRefused = path.length <= before.length;
    before = bytes as Uint8Array<ArrayBuffer>;
    if (wasRefused && shared >= path.length) continue; // it shares the byte that was refused
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
