type CacheEntry<Value> = {
  /** id of the access key */
  readonly owner: string;
  readonly value: Value;
  readonly bytes: number;
};

/** A cache with a limit in bytes for all entries and for each access key. */
export type FairCache<Value> = {
  readonly get: (id: string) => Value | undefined;
  /**
   * Adds an entry as the latest of its owner. An entry larger than the owner's limit is not added.
   * @returns ids of the entries that are no longer in the cache
   */
  readonly set: (id: string, entry: CacheEntry<Value>) => readonly string[];
  readonly delete: (id: string) => void;
  readonly bytes: () => number;
};

export type FairCacheLimits = {
  readonly bytes: number;
  readonly bytesPerOwner: number;
};

/** By id, the oldest first. */
type Owned<Value> = { readonly entries: Map<string, CacheEntry<Value>>; bytes: number };

/**
 * If the cache is full, the owner with the most bytes loses its oldest entry, so that no access key can evict the
 * entries of others. lru-cache has no such rule.
 */
export function createFairCache<Value>(limits: FairCacheLimits): FairCache<Value> {
  const owners = new Map<string, Owned<Value>>();
  const ownerOf = new Map<string, string>();
  let bytes = 0;
  const remove = (id: string): void => {
    const owner = ownerOf.get(id);
    if (owner === undefined) return;
    const owned = owners.get(owner)!;
    const entry = owned.entries.get(id)!;
    ownerOf.delete(id);
    owned.entries.delete(id);
    owned.bytes -= entry.bytes;
    bytes -= entry.bytes;
    if (owned.entries.size === 0) owners.delete(owner);
  };
  const removeOldestOf = ({ entries }: Owned<Value>): string => {
    const id = entries.keys().next().value!;
    remove(id);
    return id;
  };
  const largest = (): Owned<Value> =>
    [...owners.values()].reduce((most, owned) => (owned.bytes > most.bytes ? owned : most));
  return {
    get: (id) => owners.get(ownerOf.get(id) ?? '')?.entries.get(id)?.value,
    set: (id, entry) => {
      remove(id);
      if (entry.bytes > Math.min(limits.bytesPerOwner, limits.bytes)) return [id];
      const owned = owners.get(entry.owner) ?? { entries: new Map(), bytes: 0 };
      owners.set(entry.owner, owned);
      ownerOf.set(id, entry.owner);
      owned.entries.set(id, entry);
      owned.bytes += entry.bytes;
      bytes += entry.bytes;
      const removed: string[] = [];
      while (owned.bytes > limits.bytesPerOwner) removed.push(removeOldestOf(owned));
      while (bytes > limits.bytes) removed.push(removeOldestOf(largest()));
      return removed;
    },
    delete: remove,
    bytes: () => bytes,
  };
}

/** Overhead in bytes of an object, a list or a number. */
const PART_BYTES = 48;

/**
 * Estimates the memory of a JSON value in bytes. Stops when the estimate exceeds `most`.
 */
export function bytesOf(value: unknown, most = Number.POSITIVE_INFINITY): number {
  let bytes = 0;
  const open: unknown[] = [value];
  while (open.length > 0 && bytes <= most) {
    const part = open.pop();
    bytes += PART_BYTES;
    if (typeof part === 'string') bytes += 2 * part.length;
    else if (Array.isArray(part)) for (const item of part) open.push(item);
    else if (typeof part === 'object' && part !== null)
      for (const [name, item] of Object.entries(part)) {
        bytes += 2 * name.length;
        open.push(item);
      }
  }
  return bytes;
}
