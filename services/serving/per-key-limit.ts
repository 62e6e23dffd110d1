export type PerKeyLimit = {
  /** Takes a place; undefined when the key has none left. The function gives it back, once. */
  readonly enter: (keyId: string) => (() => void) | undefined;
};

/** How many requests each access key may have open at the same time. */
export function createPerKeyLimit(limit: number): PerKeyLimit {
  const open = new Map<string, number>();
  return {
    enter: (keyId) => {
      const now = open.get(keyId) ?? 0;
      if (now >= limit) return undefined;
      open.set(keyId, now + 1);
      let left = false;
      return () => {
        if (left) return;
        left = true;
        const rest = open.get(keyId)! - 1;
        if (rest === 0) open.delete(keyId);
        else open.set(keyId, rest);
      };
    },
  };
}
