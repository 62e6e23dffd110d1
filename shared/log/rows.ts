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
  const rows = new Map<string, unknown>(initial);
  return {
    get: (key: string) => rows.get(key),
    entries: (prefix: string) =>
      [...rows].filter(([key]) => key.startsWith(prefix)).sort(([a], [b]) => (a < b ? -1 : 1)),
    apply: (changes: readonly RowChange[]) => {
      for (const { key, row } of changes) {
        if (row === undefined) rows.delete(key);
        else rows.set(key, row);
      }
    },
    size: () => rows.size,
  };
}
export type MemoryRows = ReturnType<typeof memoryRows>;
