import type { Matcher, MatchState } from './matcher.ts';

/** How far bytes of UTF-8 were read: tokens may end amid a letter. */
export type ReadBytes = {
  readonly state: MatchState;
  /** Of a letter that has begun: its bits so far, bytes that are missing, and the least that it may be. */
  readonly pending: { readonly bits: number; readonly missing: number; readonly least: number } | undefined;
};

/** By its first byte: the bits in it, and what follows. */
function begun(byte: number): ReadBytes['pending'] {
  if (byte >= 0xc2 && byte <= 0xdf) return { bits: byte & 0x1f, missing: 1, least: 0x80 };
  if (byte >= 0xe0 && byte <= 0xef) return { bits: byte & 0x0f, missing: 2, least: 0x800 };
  if (byte >= 0xf0 && byte <= 0xf4) return { bits: byte & 0x07, missing: 3, least: 0x10000 };
  return undefined;
}

/** After one more byte; undefined: no text that the matcher knows goes on so. */
export function readByte(
  matcher: Matcher,
  { state, pending }: ReadBytes,
  byte: number,
): ReadBytes | undefined {
  if (pending === undefined) {
    if (byte < 0x80) return whole(matcher.next(state, byte));
    const letter = begun(byte);
    return letter === undefined ? undefined : partly(matcher, state, letter);
  }
  if (byte >> 6 !== 0b10) return undefined;
  const bits = (pending.bits << 6) | (byte & 0x3f);
  const missing = pending.missing - 1;
  if (missing > 0) return partly(matcher, state, { ...pending, bits, missing });
  return bits < pending.least ? undefined : whole(matcher.next(state, bits));
}

const whole = (state: MatchState | undefined): ReadBytes | undefined =>
  state === undefined ? undefined : { state, pending: undefined };

/** A letter goes on where one of those that it can still become may stand here. */
function partly(
  matcher: Matcher,
  state: MatchState,
  pending: NonNullable<ReadBytes['pending']>,
): ReadBytes | undefined {
  const shift = 6 * pending.missing;
  const first = Math.max(pending.least, pending.bits << shift);
  const last = ((pending.bits + 1) << shift) - 1;
  return first <= last && matcher.mayBeWithin(state, first, last) ? { state, pending } : undefined;
}
