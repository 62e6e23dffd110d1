/** The rows of one subject, as committed. Keys are `<table>/<key>`; values are JSON and never mutated. */
export type Rows = {
  readonly get: (key: string) => unknown;
  /** Rows whose key starts with the prefix, ordered by key. */
  readonly entries: (prefix: string) => Iterable<readonly [key: string, row: unknown]>;
};

/** `row: undefined` removes the row. */
export type RowChange = { readonly key: string; readonly row: unknown };

export type Table<Row> = {
  readonly get: (key: string) => Row | undefined;
  readonly set: (key: string, row: Row) => void;
  readonly delete: (key: string) => void;
  /** Ordered by key; includes the changes of this draft. */
  readonly entries: () => Iterable<readonly [key: string, row: Row]>;
};

export type Draft = {
  /** A table whose rows have one type. Rows are read as written, without parsing. */
  readonly table: <Row>(name: string) => Table<Row>;
  readonly changes: () => readonly RowChange[];
};

/** Collects a fold's changes to committed rows. Reads see the changes; the committed rows do not change. */
export function openDraft(rows: Rows): Draft {
  const changed = new Map<string, unknown>();
  return {
    table: <Row>(name: string): Table<Row> => {
      const full = (key: string) => `${name}/${key}`;
      return {
        get: (key) =>
          (changed.has(full(key)) ? changed.get(full(key)) : rows.get(full(key))) as Row | undefined,
        set: (key, row) => void changed.set(full(key), row),
        delete: (key) => void changed.set(full(key), undefined),
        entries: () => {
          const merged = new Map(rows.entries(`${name}/`));
          for (const [key, row] of changed) if (key.startsWith(`${name}/`)) merged.set(key, row);
          return [...merged]
            .filter(([, row]) => row !== undefined)
            .sort(([a], [b]) => (a < b ? -1 : 1))
            .map(([key, row]) => [key.slice(name.length + 1), row as Row] as const);
        },
      };
    },
    changes: () => [...changed].map(([key, row]) => ({ key, row })),
  };
}

/** Rows of one subject in memory. */
export function memoryRows(initial: Iterable<readonly [string, unknown]> = []) {
  // Rows by table, then by the first part of the key if it has several: a fold lists one table, or the rows of
  // one session in it, and the subject may have thousands of other rows.
  const tables = new Map<string, Map<string, Map<string, unknown>>>();
  const set = (key: string, row: unknown) => {
    const [name, part] = placeOf(key);
    const table = tables.get(name) ?? new Map<string, Map<string, unknown>>();
    const rows = table.get(part) ?? new Map<string, unknown>();
    if (row === undefined) rows.delete(key);
    else rows.set(key, row);
    if (rows.size === 0) table.delete(part);
    else table.set(part, rows);
    tables.set(name, table);
  };
  for (const [key, row] of initial) set(key, row);
  const partsWith = (prefix: string): readonly Map<string, unknown>[] => {
    const [name, part] = placeOf(prefix);
    if (name === '') return [...tables.values()].flatMap((table) => [...table.values()]);
    const table = tables.get(name);
    return part === '' ? [...(table?.values() ?? [])] : [table?.get(part) ?? new Map<string, unknown>()];
  };
  return {
    get: (key: string) => {
      const [name, part] = placeOf(key);
      return tables.get(name)?.get(part)?.get(key);
    },
    entries: (prefix: string) =>
      partsWith(prefix)
        .flatMap((rows) => [...rows])
        .filter(([key]) => key.startsWith(prefix))
        .sort(([a], [b]) => (a < b ? -1 : 1)),
    apply: (changes: readonly RowChange[]) => {
      for (const { key, row } of changes) set(key, row);
    },
    size: () => {
      let size = 0;
      for (const table of tables.values()) for (const rows of table.values()) size += rows.size;
      return size;
    },
  };
}

/** `zero/s@1/turn-2` is in the part `zero/s@1/` of the table `zero/`; the part of `turn/turn-2` is empty. */
function placeOf(key: string): readonly [table: string, part: string] {
  const end = key.indexOf('/') + 1;
  return [key.slice(0, end), end === 0 ? '' : key.slice(end, key.indexOf('/', end) + 1)];
}
export type MemoryRows = ReturnType<typeof memoryRows>;
