import type { Matcher, MatchState } from './matcher.ts';

/** The state after some UTF-8 bytes: a token may end in the middle of a code point. */
export type ReadBytes = {
  readonly state: MatchState;
  /** An incomplete code point: its bits so far, the missing bytes, and the smallest value it may have. */
  readonly pending: { readonly bits: number; readonly missing: number; readonly least: number } | undefined;
};

/** The code point that a first byte begins; undefined if no multi-byte code point begins with it. */
function pendingAfter(byte: number): ReadBytes['pending'] {
  if (byte >= 0xc2 && byte <= 0xdf) return { bits: byte & 0x1f, missing: 1, least: 0x80 };
  if (byte >= 0xe0 && byte <= 0xef) return { bits: byte & 0x0f, missing: 2, least: 0x800 };
  if (byte >= 0xf0 && byte <= 0xf4) return { bits: byte & 0x07, missing: 3, least: 0x10000 };
  return undefined;
}

/** The state after one more byte; undefined if no text of the matcher continues this way. */
export function readByte(
  matcher: Matcher,
  { state, pending }: ReadBytes,
  byte: number,
): ReadBytes | undefined {
  if (pending === undefined) {
    if (byte < 0x80) return complete(matcher.next(state, byte));
    const begun = pendingAfter(byte);
    return begun === undefined ? undefined : incomplete(matcher, state, begun);
  }
  if (byte >> 6 !== 0b10) return undefined;
  const bits = (pending.bits << 6) | (byte & 0x3f);
  const missing = pending.missing - 1;
  if (missing > 0) return incomplete(matcher, state, { ...pending, bits, missing });
  return bits < pending.least ? undefined : complete(matcher.next(state, bits));
}

const complete = (state: MatchState | undefined): ReadBytes | undefined =>
  state === undefined ? undefined : { state, pending: undefined };

/** An incomplete code point is accepted if the matcher accepts a code point that it can become. */
function incomplete(
  matcher: Matcher,
  state: MatchState,
  pending: NonNullable<ReadBytes['pending']>,
): ReadBytes | undefined {
  const shift = 6 * pending.missing;
  const first = Math.max(pending.least, pending.bits << shift);
  const last = ((pending.bits + 1) << shift) - 1;
  return first <= last && matcher.mayBeWithin(state, first, last) ? { state, pending } : undefined;
}
