import type { Fold } from '../../shared/log/fold.ts';

export const ROWS_PER_EVENT = 500;

/** Rows as large as those of a judged turn, many per event. */
export const bulk: Fold<null> = {
  name: 'bulk',
  reads: 'conversations',
  writes: 'turns',
  on: (_rows, event) => ({
    changes: Array.from({ length: ROWS_PER_EVENT }, (_, n) => ({
      key: `row/${event.id}/${n}`,
      row: { n, text: `${event.id} `.padEnd(300, 'x') },
    })),
    emit: [],
  }),
};

export const isMigrated = (row: unknown): boolean =>
  (row as { readonly migrated?: boolean }).migrated === true;

/** `bulk` of a later release. @param onMigrate called for each lane with the number of rows that have the present shape already */
export const laterBulk = (onMigrate: (already: number) => void): Fold<null> => ({
  ...bulk,
  migrations: [
    (rows) => {
      const all = [...rows.entries('row/')];
      onMigrate(all.filter(([, row]) => isMigrated(row)).length);
      return all.map(([key, row]) => ({ key, row: { ...(row as object), migrated: true } }));
    },
  ],
});
