type OwnedRow = { readonly fixed: { readonly keyId: string } };

/** The latest that ended. Where there are too many, the access key that has most loses its oldest one. */
export function createEndedRows<Row extends OwnedRow>(most: number) {
  /** by access key, in the order of their ends */
  const byOwner = new Map<string, Set<Row>>();
  let size = 0;
  const remove = (row: Row): void => {
    const { keyId } = row.fixed;
    const own = byOwner.get(keyId);
    if (!own?.delete(row)) return;
    size -= 1;
    if (own.size === 0) byOwner.delete(keyId);
  };
  return {
    size: () => size,
    all: (): readonly Row[] => [...byOwner.values()].flatMap((own) => [...own]),
    /** @returns one that is forgotten for it */
    add: (row: Row): Row | undefined => {
      remove(row);
      const own = byOwner.get(row.fixed.keyId) ?? new Set();
      byOwner.set(row.fixed.keyId, own.add(row));
      size += 1;
      if (size <= most) return undefined;
      const largest = [...byOwner.values()].reduce((one, other) => (other.size > one.size ? other : one));
      const [oldest] = largest;
      remove(oldest!);
      return oldest;
    },
  };
}
