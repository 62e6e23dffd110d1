/** A small change of one source file that may be a bug. */
export type Edit = {
  /** path in the package */
  readonly file: string;
  /** kind of change, such as `flip-comparison` */
  readonly modifier: string;
  /** counts from 1 */
  readonly line: number;
  /** the changed part of the file's text: first and one past the last UTF-16 unit */
  readonly start: number;
  readonly end: number;
  readonly replacement: string;
};

export const applyEdit = (text: string, { start, end, replacement }: Edit): string =>
  text.slice(0, start) + replacement + text.slice(end);

/**
 * Edits in the order in which they are tried: shuffled, but kinds take turns, so that a common kind such as
 * a changed number does not displace the others.
 *
 * @param random uniform in [0, 1)
 */
export function orderOfTrials(edits: readonly Edit[], random: () => number): readonly Edit[] {
  const byModifier = Map.groupBy(shuffled(edits, random), ({ modifier }) => modifier);
  const queues = shuffled([...byModifier.values()], random);
  const longest = Math.max(0, ...queues.map(({ length }) => length));
  return Array.from({ length: longest }, (_, place) => queues.flatMap((queue) => queue[place] ?? [])).flat();
}

function shuffled<Item>(items: readonly Item[], random: () => number): readonly Item[] {
  return items
    .map((item) => ({ item, key: random() }))
    .sort((a, b) => a.key - b.key)
    .map(({ item }) => item);
}
