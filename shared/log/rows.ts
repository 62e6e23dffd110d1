/** The rows of one subject, as committed. Keys are `<table>/<key>`; values are JSON and never mutated. */
export type Rows = {
  readonly get: (key: string) => unknown;
  /** Rows whose key starts with the prefix, in order of key. */
  readonly entries: (prefix: string) => Iterable<readonly [key: string, row: unknown]>;
};

/** `row: undefined` removes it. */
export type RowChange = { readonly key: string; readonly row: unknown };

export type Table<Row> = {
  readonly get: (key: string) => Row | undefined;
  readonly set: (key: string, row: Row) => void;
  readonly delete: (key: string) => void;
  /** In order of key, own changes included. */
  readonly entries: () => Iterable<readonly [key: string, row: Row]>;
};

export type Draft = {
  /** A table of rows of one shape. What the fold wrote is what it reads: no parsing in between. */
  readonly table: <Row>(name: string) => Table<Row>;
  readonly changes: () => readonly RowChange[];
};

/** Collects a fold's changes over committed rows; reads see them, the rows below stay as they are. */
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

/** Rows in memory: what a log holds of a subject while it owns its partition, and what tests fold over. */
export function memoryRows(initial: Iterable<readonly [string, unknown]> = []) {
  // By table, since a fold walks one table of a subject that may have thousands of rows in another.
  const tables = new Map<string, Map<string, unknown>>();
  const tableOf = (key: string) => key.slice(0, key.indexOf('/') + 1);
  const set = (key: string, row: unknown) => {
    const name = tableOf(key);
    const table = tables.get(name) ?? new Map<string, unknown>();
    if (row === undefined) table.delete(key);
    else table.set(key, row);
    tables.set(name, table);
  };
  for (const [key, row] of initial) set(key, row);
  return {
    get: (key: string) => tables.get(tableOf(key))?.get(key),
    entries: (prefix: string) => {
      const name = tableOf(prefix);
      const within = name === '' ? [...tables.values()] : [tables.get(name) ?? new Map<string, unknown>()];
      return within
        .flatMap((table) => [...table])
        .filter(([key]) => key.startsWith(prefix))
        .sort(([a], [b]) => (a < b ? -1 : 1));
    },
    apply: (changes: readonly RowChange[]) => {
      for (const { key, row } of changes) set(key, row);
    },
    size: () => [...tables.values()].reduce((sum, table) => sum + table.size, 0),
  };
}
export type MemoryRows = ReturnType<typeof memoryRows>;
