/** A map of the latest entries: beyond `most`, the oldest is forgotten. */
export type Recent<Value> = {
  readonly has: (key: string) => boolean;
  readonly get: (key: string) => Value | undefined;
  readonly set: (key: string, value: Value) => void;
  /** Oldest first. */
  readonly entries: () => readonly [key: string, value: Value][];
};

export function createRecent<Value>(
  most: number,
  from: Iterable<readonly [string, Value]> = [],
): Recent<Value> {
  const map = new Map<string, Value>(from);
  return {
    has: (key) => map.has(key),
    get: (key) => map.get(key),
    set: (key, value) => {
      map.set(key, value);
      if (map.size > most) map.delete(map.keys().next().value!);
    },
    entries: () => [...map],
  };
}

/** Counts ids, each once. A copy that comes long after the first counts again. */
export type IdCount = {
  /** False: the id was counted before. */
  readonly add: (id: string) => boolean;
  readonly count: () => number;
  readonly state: () => IdCountState;
};
export type IdCountState = { readonly count: number; readonly recent: readonly string[] };

export function countIds(most: number, from: IdCountState = { count: 0, recent: [] }): IdCount {
  const recent = createRecent(
    most,
    from.recent.map((id) => [id, true] as const),
  );
  let { count } = from;
  return {
    add: (id) => {
      if (recent.has(id)) return false;
      recent.set(id, true);
      count += 1;
      return true;
    },
    count: () => count,
    state: () => ({ count, recent: recent.entries().map(([id]) => id) }),
  };
}
