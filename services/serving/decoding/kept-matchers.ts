const MOST_KEPT = 16;

/**
 * Caches the latest results of `make`, by the JSON of its argument.
 */
export function keepLatest<Key, Result>(make: (key: Key) => Result): (key: Key) => Result {
  const kept = new Map<string, Result>();
  return (argument) => {
    const key = JSON.stringify(argument);
    const result = kept.get(key) ?? make(argument);
    kept.delete(key);
    kept.set(key, result); // the latest is last
    if (kept.size > MOST_KEPT) kept.delete(kept.keys().next().value!);
    return result;
  };
}
