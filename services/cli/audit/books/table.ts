import { openColumn, openMarks, type Width } from './column.ts';
import type { Names } from './ids.ts';

/**
 * What a field holds. name: a text that many rows share. number: any, also none. count: whole, from 0.
 */
type Kinds = {
  readonly name: string | undefined;
  readonly number: number | null | undefined;
  readonly count: number;
  readonly flag: boolean;
};
type Kind = keyof Kinds;
type Shape = Readonly<Record<string, Kind>>;
type RowOf<Fields extends Shape> = { readonly [Name in keyof Fields]: Kinds[Fields[Name]] };

export type Table<Fields extends Shape> = {
  readonly has: (index: number) => boolean;
  readonly get: (index: number) => RowOf<Fields> | undefined;
  readonly set: (index: number, row: RowOf<Fields>) => void;
};

/** Rows of plain values in columns: a few bytes per field, and no object per row. */
export function openTable<const Fields extends Shape>(names: Names, shape: Fields): Table<Fields> {
  const filled = openMarks();
  const fields = Object.entries(shape).map(([name, kind]) => ({
    name,
    kind,
    column: openColumn(widths[kind]),
  }));
  const readAs = (kind: Kind, stored: number): Kinds[Kind] => {
    switch (kind) {
      case 'name':
        return stored === 0 ? undefined : names.nameOf(stored - 1);
      case 'flag':
        return stored === 1;
      case 'count':
        return stored;
      case 'number':
        return numberOf(stored);
    }
  };
  const storeAs = (kind: Kind, value: Kinds[Kind]): number => {
    if (kind === 'number') return codeOf(value as number | null | undefined);
    if (typeof value === 'string') return names.add(value) + 1;
    return Number(value ?? 0);
  };
  return {
    has: filled.has,
    get: (index) => {
      if (!filled.has(index)) return undefined;
      const row: Record<string, unknown> = {};
      for (const { name, kind, column } of fields) row[name] = readAs(kind, column.get(index));
      return row as RowOf<Fields>;
    },
    set: (index, row) => {
      filled.add(index);
      for (const { name, kind, column } of fields) column.set(index, storeAs(kind, row[name] as Kinds[Kind]));
    },
  };
}

const widths: Readonly<Record<Kind, Width>> = {
  name: 'int',
  number: 'double',
  count: 'int',
  flag: 'byte',
};

/** JSON has neither: they stand for what is not a number. */
const [NONE, NULL] = [Number.NaN, Number.NEGATIVE_INFINITY];

export const codeOf = (value: number | null | undefined): number =>
  value === undefined ? NONE : value === null ? NULL : value;
export const numberOf = (code: number): number | null | undefined =>
  Number.isNaN(code) ? undefined : code === NULL ? null : code;
