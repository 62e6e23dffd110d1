import type { DatabaseSync, SQLInputValue } from 'node:sqlite';

type Shape = {
  readonly name: string;
  /** with their types; a row for each combination */
  readonly keys: readonly (readonly [name: string, type: 'TEXT' | 'INTEGER'])[];
  /** A row goes when the first one is 0. */
  readonly counts: readonly string[];
  /** Whether `first` and `last` hold the times of what is counted. A caller corrects them when something is taken away. */
  readonly hasTimes?: boolean;
};

/** Weights of the counts in a row's sum, so that a flipped bit of a count is noticed. */
const weights = [3, 5, 7, 11];
const weighted = (counts: readonly string[]): string =>
  counts.map((name, index) => `${weights[index]} * ${name}`).join(' + ');

/** For a query: the number of its rows whose sum is wrong. */
export const wrongSums = ({ counts }: Shape): string => `total(sum <> ${weighted(counts)})`;

export function schemaOf({ name, keys, counts, hasTimes = false }: Shape): string {
  const columns = [
    ...keys.map(([key, type]) => `${key} ${type} NOT NULL`),
    ...[...counts, ...(hasTimes ? ['first', 'last'] : []), 'sum'].map((count) => `${count} INTEGER NOT NULL`),
  ];
  return `CREATE TABLE ${name} (${columns.join(', ')},
    PRIMARY KEY (${keys.map(([key]) => key).join(', ')})) STRICT, WITHOUT ROWID;`;
}

type Change = { readonly key: readonly SQLInputValue[]; readonly by: number[]; first: number; last: number };
type Times = { readonly key: readonly SQLInputValue[]; readonly by: readonly number[]; readonly ms: number };

/** Counts that are changed together. */
export function openCounts(db: DatabaseSync, { name, keys, counts, hasTimes = false }: Shape) {
  const [keyNames, times] = [keys.map(([key]) => key), hasTimes ? ['first', 'last'] : []];
  const columns = [...keyNames, ...counts, ...times, 'sum'];
  const put = db.prepare(
    `INSERT INTO ${name} (${columns.join(', ')}) VALUES (${columns.map(() => '?').join(', ')})
     ON CONFLICT DO UPDATE SET ${[
       ...[...counts, 'sum'].map((count) => `${count} = ${count} + excluded.${count}`),
       ...(hasTimes ? ['first = min(first, excluded.first)', 'last = max(last, excluded.last)'] : []),
     ].join(', ')}`,
  );
  const remove = db.prepare(
    `DELETE FROM ${name} WHERE ${keyNames.map((key) => `${key} = ?`).join(' AND ')} AND ${counts[0]} = 0`,
  );
  const changes = new Map<string, Change>();
  return {
    add: ({ key, by, ms }: Times): void => {
      const text = key.join('\u0001');
      const known = changes.get(text);
      if (known === undefined) {
        changes.set(text, { key, by: [...by], first: ms, last: ms });
        return;
      }
      for (const [index, count] of by.entries()) known.by[index]! += count;
      known.first = Math.min(known.first, ms);
      known.last = Math.max(known.last, ms);
    },
    flush: (): void => {
      for (const { key, by, first, last } of changes.values()) {
        if (by.every((count) => count === 0)) continue;
        const sum = by.reduce((total, count, index) => total + weights[index]! * count, 0);
        put.run(...key, ...by, ...(hasTimes ? [first, last] : []), sum);
        if (by[0]! < 0) remove.run(...key);
      }
      changes.clear();
    },
  };
}
