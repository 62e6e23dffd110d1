type Cached<Value> = { readonly value: Value; isStored: boolean; isChanged: boolean };

/** How a table is read and written. */
type Table<Value> = {
  readonly load: (name: string) => Value | undefined;
  readonly insert: (name: string, value: Value) => void;
  readonly update: (name: string, value: Value) => void;
};

/** Rows that stay in memory after a commit: the next records often name the same turns. */
const KEPT = 10_000;

/** Rows of a table that are read when they are first asked for, and written together. */
export function cacheRows<Value>({ load, insert, update }: Table<Value>) {
  const rows = new Map<string, Cached<Value>>();
  const find = (name: string): Cached<Value> | undefined => {
    const known = rows.get(name);
    if (known !== undefined) return known;
    const value = name === '' ? undefined : load(name);
    if (value === undefined) return undefined;
    const found = { value, isStored: true, isChanged: false };
    rows.set(name, found);
    return found;
  };
  return {
    get: (name: string): Value | undefined => find(name)?.value,
    /** The row, which the caller changes in place. */
    change: (name: string): Value | undefined => {
      const found = find(name);
      if (found !== undefined) found.isChanged = true;
      return found?.value;
    },
    set: (name: string, value: Value): void => {
      const isStored = find(name)?.isStored ?? false;
      rows.set(name, { value, isStored, isChanged: true });
    },
    /** Writes what changed. */
    flush: (): void => {
      for (const [name, row] of rows) {
        if (row.isChanged && row.isStored) update(name, row.value);
        if (row.isChanged && !row.isStored) insert(name, row.value);
        row.isStored = true;
        row.isChanged = false;
      }
    },
    /** Forgets the oldest rows, after `flush`. */
    trim: (): void => {
      for (const name of rows.keys()) {
        if (rows.size <= KEPT) return;
        rows.delete(name);
      }
    },
  };
}
