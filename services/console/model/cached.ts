/** Computes a value again only when the log has grown, and at most once per `ageMs`. */
export type Cached = <Value>(name: string, compute: () => Value) => Value;

/** ms for which a value may be older than the log */
export const CACHED_MS = 1_000;

/** Values that stay; a page asks for few. */
const MOST = 100;

/**
 * @param revision grows when the log does
 * @param now ms, monotonic
 */
export function createCached(revision: () => number, now: () => number, ageMs = CACHED_MS): Cached {
  const values = new Map<
    string,
    { readonly value: unknown; readonly revision: number; readonly at: number }
  >();
  return <Value>(name: string, compute: () => Value): Value => {
    const known = values.get(name);
    if (known !== undefined && (known.revision === revision() || now() - known.at < ageMs))
      return known.value as Value;
    const value = compute();
    values.delete(name);
    values.set(name, { value, revision: revision(), at: now() });
    if (values.size > MOST) values.delete(values.keys().next().value!);
    return value;
  };
}
