/** A set of code points without surrogates: ascending ranges that neither overlap nor touch. */
export type CodePoints = readonly (readonly [first: number, last: number])[];

/** All code points that UTF-8 can encode. */
export const anyCodePoint: CodePoints = [
  [0, 0xd7ff],
  [0xe000, 0x10ffff],
];

/** The union of ranges in any order, without surrogates. */
export function codePointsOf(ranges: CodePoints): CodePoints {
  const sorted = ranges.filter(([first, last]) => first <= last).toSorted(([one], [other]) => one - other);
  const joined: [number, number][] = [];
  for (const [first, last] of sorted) {
    const before = joined.at(-1);
    if (before !== undefined && first <= before[1] + 1) before[1] = Math.max(before[1], last);
    else joined.push([first, last]);
  }
  return intersectionOf(joined, anyCodePoint);
}

/** The code points of a text, e.g. `lettersIn('abc')`. */
export const codePointsIn = (text: string): CodePoints =>
  codePointsOf(
    Array.from(text, (codePoint) => [codePoint.codePointAt(0)!, codePoint.codePointAt(0)!] as const),
  );

export function intersectionOf(one: CodePoints, other: CodePoints): CodePoints {
  const shared: (readonly [number, number])[] = [];
  for (let at = 0, there = 0; at < one.length && there < other.length; ) {
    const from = Math.max(one[at]![0], other[there]![0]);
    const to = Math.min(one[at]![1], other[there]![1]);
    if (from <= to) shared.push([from, to]);
    if (one[at]![1] < other[there]![1]) at++;
    else there++;
  }
  return shared;
}

export function complementOf(set: CodePoints): CodePoints {
  const starts = [0, ...set.map(([, last]) => last + 1)];
  const ends = [...set.map(([first]) => first - 1), 0x10ffff];
  return codePointsOf(starts.map((start, at) => [start, ends[at]!] as const));
}

export const hasCodePoint = (set: CodePoints, codePoint: number): boolean =>
  hasCodePointWithin(set, codePoint, codePoint);

/** Whether the set has a code point from `from` to `to`, inclusive. */
export function hasCodePointWithin(set: CodePoints, from: number, to: number): boolean {
  let low = 0;
  let high = set.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (set[middle]![1] < from) low = middle + 1;
    else high = middle;
  }
  return low < set.length && set[low]![0] <= to;
}
