import { choice, never, nothing, oneOf, type Pattern, repeat, sequence, text } from './pattern.ts';

/** Bounds of a number; undefined: unbounded on that side. */
export type NumberRange = {
  readonly from: { readonly value: number; readonly isExclusive: boolean } | undefined;
  readonly to: { readonly value: number; readonly isExclusive: boolean } | undefined;
};

/** The largest magnitude: beyond it, JSON readers lose integers. */
export const LARGEST = BigInt(Number.MAX_SAFE_INTEGER);
const MOST_DECIMALS = 12;
/** Digits that a double always preserves. */
const EXACT_DIGITS = 15;

/** The integers in a range, in digits. */
export function integersIn({ from, to }: NumberRange): Pattern {
  const low = from === undefined ? -LARGEST : roundUp(decimalOf(from.value), 0, from.isExclusive);
  const high = to === undefined ? LARGEST : roundDown(decimalOf(to.value), 0, to.isExclusive);
  return fixedPoint(notBelow(low), notAbove(high), 0);
}

/**
 * The numbers in a range, without an exponent: all numbers with as many decimals as the bounds, and finer
 * numbers strictly between them. Undefined if the bounds have too many decimals.
 */
export function numbersIn({ from, to }: NumberRange): Pattern | undefined {
  const [low, high] = [decimalOf(from?.value ?? Number(-LARGEST)), decimalOf(to?.value ?? Number(LARGEST))];
  const decimals = Math.max(low.decimals, high.decimals);
  if (decimals > MOST_DECIMALS) return undefined;
  const exact = Array.from({ length: decimals + 1 }, (_, count) =>
    fixedPoint(
      notBelow(roundUp(low, count, from?.isExclusive ?? false), count),
      notAbove(roundDown(high, count, to?.isExclusive ?? false), count),
      count,
    ),
  );
  const [least, most] = [
    notBelow(roundUp(low, decimals, false), decimals),
    notAbove(roundDown(high, decimals, false), decimals),
  ];
  const digits = Math.max(...[least, most].map((bound) => String(magnitude(bound)).length), decimals + 1);
  const more = EXACT_DIGITS - digits;
  if (more < 1) return choice(...exact);
  const finer = sequence(
    decimals === 0 ? text('.') : nothing,
    repeat(digit, 0, more - 1),
    oneOf('123456789'), // a trailing 0 may be the bound itself
  );
  const above = digitsFrom(largest(least, 0n), most - 1n, decimals);
  const below = digitsFrom(largest(-most, 0n), -least - 1n, decimals);
  return choice(...exact, sequence(above, finer), sequence(text('-'), below, finer));
}

const digit = oneOf('0123456789');
const magnitude = (value: bigint): bigint => (value < 0n ? -value : value);
const largest = (one: bigint, other: bigint): bigint => (one > other ? one : other);
const smallest = (one: bigint, other: bigint): bigint => (one < other ? one : other);
const notBelow = (value: bigint, decimals = 0): bigint => largest(-LARGEST * 10n ** BigInt(decimals), value);
const notAbove = (value: bigint, decimals = 0): bigint => smallest(LARGEST * 10n ** BigInt(decimals), value);

/** `digits` / 10^`decimals`. */
type Decimal = { readonly digits: bigint; readonly decimals: number };

/** The decimal that the schema wrote, not the binary value of the double. */
function decimalOf(value: number): Decimal {
  const [, sign, whole, fraction = '', exponent = '0'] = /^(-?)(\d+)(?:\.(\d+))?(?:e([+-]\d+))?$/.exec(
    String(value),
  )!;
  const digits = BigInt(`${sign}${whole}${fraction}`);
  const decimals = fraction.length - Number(exponent);
  return decimals >= 0 ? { digits, decimals } : { digits: digits * 10n ** BigInt(-decimals), decimals: 0 };
}

/** The smallest integer at or above (exclusive: above) the value times 10^`decimals`. */
function roundUp({ digits, decimals: given }: Decimal, decimals: number, isExclusive: boolean): bigint {
  if (given <= decimals) return digits * 10n ** BigInt(decimals - given) + (isExclusive ? 1n : 0n);
  const divisor = 10n ** BigInt(given - decimals);
  const cut = digits / divisor; // towards 0
  const isExact = cut * divisor === digits;
  return cut + ((isExact ? isExclusive : digits > 0n) ? 1n : 0n);
}

const roundDown = ({ digits, decimals }: Decimal, count: number, isExclusive: boolean): bigint =>
  -roundUp({ digits: -digits, decimals }, count, isExclusive);

/** Every k / 10^`decimals` with k from `low` to `high`. */
const fixedPoint = (low: bigint, high: bigint, decimals: number): Pattern =>
  choice(
    digitsFrom(largest(low, 0n), high, decimals),
    sequence(text('-'), digitsFrom(largest(-high, 1n), -low, decimals)),
  );

/** The pattern for non-negative k. */
function digitsFrom(low: bigint, high: bigint, decimals: number): Pattern {
  if (low > high) return never;
  const shortest = decimals + 1; // a digit before the point
  const written = (value: bigint) => String(value).padStart(shortest, '0');
  const spans: Pattern[] = [];
  for (let length = written(low).length; length <= written(high).length; length++) {
    const first = length === shortest ? 0n : 10n ** BigInt(length - 1);
    const last = 10n ** BigInt(length) - 1n;
    spans.push(sameLength(written(largest(low, first)), written(smallest(high, last)), decimals));
  }
  return choice(...spans);
}

/** All digit strings from `low` to `high`, which have the same length; `point`: digits after the point. */
function sameLength(low: string, high: string, point: number): Pattern {
  if (low === '') return nothing;
  const dot = low.length === point ? text('.') : nothing;
  const [rest, least, most] = [low.length - 1, '0'.repeat(low.length - 1), '9'.repeat(low.length - 1)];
  const [first, last] = [Number(low[0]), Number(high[0])];
  const startingWith = (first: number, restLow: string, restHigh: string) =>
    sequence(text(String(first)), sameLength(restLow, restHigh, point));
  if (first === last) return sequence(dot, startingWith(first, low.slice(1), high.slice(1)));
  const isFree = low.slice(1) === least && high.slice(1) === most;
  const [start, stop] = isFree ? [first, last] : [first + 1, last - 1];
  const free = start > stop ? never : sequence(digitsBetween(start, stop), anyDigits(rest, point));
  return sequence(
    dot,
    isFree
      ? free
      : choice(startingWith(first, low.slice(1), most), free, startingWith(last, least, high.slice(1))),
  );
}

const digitsBetween = (first: number, last: number): Pattern => oneOf('0123456789'.slice(first, last + 1));

const anyDigits = (count: number, point: number): Pattern =>
  point > 0 && count >= point
    ? sequence(repeat(digit, count - point, count - point), text('.'), repeat(digit, point, point))
    : repeat(digit, count, count);
