import { z } from 'zod';

/**
 * One field of many rows. Most fields have few values, so each row holds the index of its value; -1: undefined. Rows
 * that were read share their values.
 */
export type Column<Value> = { readonly values: readonly Value[]; readonly rows: readonly number[] };

/** Not copied, as zod would: a log of a million events has some ten million of them. */
export const integers = z.custom<number[]>(
  (value) => Array.isArray(value) && value.every((item) => Number.isSafeInteger(item)),
);

export const column = <Value>(value: z.ZodType<Value>) =>
  z.object({ values: z.array(value), rows: integers });

export function columnOf<Row, Value>(
  rows: readonly Row[],
  pick: (row: Row) => Value | undefined,
): { values: Value[]; rows: number[] } {
  const known = new Map<unknown, number>();
  const values: Value[] = [];
  const indexOf = (value: Value | undefined): number => {
    if (value === undefined) return -1;
    const name = typeof value === 'object' ? JSON.stringify(value) : value;
    const index = known.get(name) ?? values.push(value) - 1;
    known.set(name, index);
    return index;
  };
  return { rows: rows.map((row) => indexOf(pick(row))), values };
}

export const valueAt = <Value>({ values, rows }: Column<Value>, row: number): Value | undefined =>
  values[rows[row]!];

/** Lists of numbers, one per row. */
export const numberLists = z.object({ lengths: integers, numbers: integers });
type NumberLists = z.output<typeof numberLists>;

export const listsOf = (lists: readonly (readonly number[])[]): NumberLists => ({
  lengths: lists.map(({ length }) => length),
  numbers: lists.flat(),
});

/** The lists in their order. */
export function* eachList({ lengths, numbers }: NumberLists): Generator<number[]> {
  let from = 0;
  for (const length of lengths) {
    yield numbers.slice(from, from + length);
    from += length;
  }
}
