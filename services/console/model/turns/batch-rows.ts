import type { DatabaseSync } from 'node:sqlite';
import { z } from 'zod';
import type { Keyed } from '../../../../shared/lang/keyed.ts';
import { cacheRows } from '../../../../shared/views/turn-index/cached-rows.ts';
import { columnText, storedText, storedValue } from '../../../../shared/views/turn-index/index-file.ts';
import type { BatchRow } from '../../../../shared/views/turn-row.ts';

export const batchSchema = `
  CREATE TABLE batches (
    row INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, adapter TEXT NOT NULL, n INTEGER NOT NULL,
    data TEXT NOT NULL, sum INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX batches_by_version ON batches (adapter, n);
`;

const batchRow = z.object({
  id: z.string(),
  adapter: z.string(),
  n: z.int(),
  parent: z.int(),
  turns: z.array(z.string()),
  places: z.array(z.int()),
});

/** Batches that stay in memory: the next records are about the latest. */
const KEPT = 50;

/** Batches by their ids. A batch that is taken from here is changed in place. */
export function openBatchRows(db: DatabaseSync) {
  const one = db.prepare('SELECT data, sum FROM batches WHERE id = ?');
  const ofVersion = db.prepare(
    'SELECT data, sum FROM batches WHERE adapter = ? AND n = ? ORDER BY row LIMIT 1',
  );
  const insert = db.prepare('INSERT INTO batches (id, adapter, n, data, sum) VALUES (?, ?, ?, ?, ?)');
  const update = db.prepare('UPDATE batches SET data = ?, sum = ? WHERE id = ?');
  const rows = cacheRows<BatchRow, true>({
    load: (id) => {
      const found = one.get(columnText(id));
      return found && { value: batchRow.parse(storedValue(found)), stored: true };
    },
    write: (id, batch, stored) => {
      const { data, sum } = storedText(batch);
      if (stored) update.run(data, sum, columnText(id));
      else insert.run(columnText(id), columnText(batch.adapter), batch.n, data, sum);
      return true;
    },
    kept: KEPT,
  });
  const keyed: Keyed<BatchRow> = {
    get: rows.change,
    has: (id) => rows.get(id) !== undefined,
    set: rows.set,
  };
  return {
    keyed,
    get: rows.get,
    flush: rows.flush,
    trim: rows.trim,
    /** The batch that made this version, or was to make it. */
    ofVersion: (adapter: string, n: number): BatchRow | undefined => {
      const found = ofVersion.get(columnText(adapter), n);
      return found && batchRow.parse(storedValue(found));
    },
  };
}
