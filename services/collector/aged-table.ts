import { DAY_MS } from '../../shared/log/event-clock.ts';
import type { Draft, Table } from '../../shared/log/rows.ts';

/** `day`: of the latest write, days since 1970. */
type AgedRow<Row> = { readonly day: number; readonly row: Row };

/** The day of a time in ms since 1970. */
export const dayOf = (time: number): number => Math.floor(time / DAY_MS);

/** A table whose rows keep the day on which they were written. @param day undefined: they do not */
export function agedTable<Row>(draft: Draft, name: string, day: number | undefined): Table<Row> {
  const table = draft.table<Row | AgedRow<Row>>(name);
  return {
    get: (key) => {
      const stored = table.get(key);
      return stored === undefined ? undefined : withoutAge<Row>(stored);
    },
    set: (key, row) => table.set(key, day === undefined ? row : { day, row }),
    delete: table.delete,
    entries: () => [...table.entries()].map(([key, stored]) => [key, withoutAge<Row>(stored)] as const),
  };
}

/** The row as its table returns it. Rows of earlier programs have no age. */
export const withoutAge = <Row>(stored: Row | AgedRow<Row>): Row => (isAged(stored) ? stored.row : stored);

/** Day on which a row was written; undefined: unknown. */
export const writtenOn = (stored: unknown): number | undefined => (isAged(stored) ? stored.day : undefined);

const isAged = <Row>(stored: Row | AgedRow<Row>): stored is AgedRow<Row> =>
  typeof stored === 'object' && stored !== null && 'day' in stored && 'row' in stored;
