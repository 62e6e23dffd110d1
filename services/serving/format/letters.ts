/** A set of letters (Unicode code points, no surrogates): ranges of first and last, ascending and apart. */
export type Letters = readonly (readonly [first: number, last: number])[];

/** All that UTF-8 can write. */
export const anyLetter: Letters = [
  [0, 0xd7ff],
  [0xe000, 0x10ffff],
];

/** The letters that are in one of the ranges, in any order, surrogates excepted. */
export function lettersOf(ranges: Letters): Letters {
  const sorted = ranges.filter(([first, last]) => first <= last).toSorted(([one], [other]) => one - other);
  const joined: [number, number][] = [];
  for (const [first, last] of sorted) {
    const before = joined.at(-1);
    if (before !== undefined && first <= before[1] + 1) before[1] = Math.max(before[1], last);
    else joined.push([first, last]);
  }
  return common(joined, anyLetter);
}

/** The letters of a text, e.g. `lettersIn('abc')`. */
export const lettersIn = (text: string): Letters =>
  lettersOf(Array.from(text, (letter) => [letter.codePointAt(0)!, letter.codePointAt(0)!] as const));

/** The letters that are in both. */
export function common(one: Letters, other: Letters): Letters {
  const found: (readonly [number, number])[] = [];
  for (let at = 0, there = 0; at < one.length && there < other.length; ) {
    const from = Math.max(one[at]![0], other[there]![0]);
    const to = Math.min(one[at]![1], other[there]![1]);
    if (from <= to) found.push([from, to]);
    if (one[at]![1] < other[there]![1]) at++;
    else there++;
  }
  return found;
}

/** All letters but these. */
export function othersThan(set: Letters): Letters {
  const starts = [0, ...set.map(([, last]) => last + 1)];
  const ends = [...set.map(([first]) => first - 1), 0x10ffff];
  return lettersOf(starts.map((start, at) => [start, ends[at]!] as const));
}

export const hasLetter = (set: Letters, letter: number): boolean => hasLetterWithin(set, letter, letter);

/** Whether a letter of the set lies from `from` to `to`. */
export function hasLetterWithin(set: Letters, from: number, to: number): boolean {
  let low = 0;
  let high = set.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (set[middle]![1] < from) low = middle + 1;
    else high = middle;
  }
  return low < set.length && set[low]![0] <= to;
}
