type Cached<Value, Stored> = { value: Value; stored: Stored | undefined; isChanged: boolean };

/** How a table is read and written. `Stored`: what the caller wants to know of the row as it was stored. */
type Table<Value, Stored> = {
  readonly load: (name: string) => { readonly value: Value; readonly stored: Stored } | undefined;
  /** @param stored undefined: there is no such row yet */
  readonly write: (name: string, value: Value, stored: Stored | undefined) => Stored;
  /** Rows that stay in memory after a commit: the next records often name the same ones. Default 10,000. */
  readonly kept?: number;
};

/** Rows of a table that are read when they are first asked for, and written together. */
export function cacheRows<Value, Stored>({ load, write, kept = 10_000 }: Table<Value, Stored>) {
  const rows = new Map<string, Cached<Value, Stored>>();
  const changed = new Map<string, Cached<Value, Stored>>();
  const find = (name: string): Cached<Value, Stored> | undefined => {
    const known = rows.get(name);
    if (known !== undefined) return known;
    const loaded = name === '' ? undefined : load(name);
    if (loaded === undefined) return undefined;
    const found = { ...loaded, isChanged: false };
    rows.set(name, found);
    return found;
  };
  const note = (name: string, row: Cached<Value, Stored>): void => {
    if (!row.isChanged) changed.set(name, row);
    row.isChanged = true;
  };
  return {
    get: (name: string): Value | undefined => find(name)?.value,
    /** The row, which the caller changes in place. */
    change: (name: string): Value | undefined => {
      const found = find(name);
      if (found !== undefined) note(name, found);
      return found?.value;
    },
    set: (name: string, value: Value): void => {
      const row = find(name) ?? { value, stored: undefined, isChanged: false };
      row.value = value;
      rows.set(name, row);
      note(name, row);
    },
    hasChanges: (): boolean => changed.size > 0,
    /** Writes what changed. */
    flush: (): void => {
      for (const [name, row] of changed) {
        row.stored = write(name, row.value, row.stored);
        row.isChanged = false;
      }
      changed.clear();
    },
    /** Forgets a row that was removed from the table, after `flush`. */
    forget: (name: string): void => void rows.delete(name),
    /** Forgets the oldest rows, after `flush`. */
    trim: (): void => {
      for (const name of rows.keys()) {
        if (rows.size <= kept) return;
        rows.delete(name);
      }
    },
  };
}
