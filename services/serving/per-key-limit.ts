export type PerKeyLimit = {
  /** Takes places; undefined when the key has not as many left. The function gives them back, once. */
  readonly enter: (keyId: string, places: number) => (() => void) | undefined;
};

/** How many answers each access key may have open at the same time. */
export function createPerKeyLimit(limit: number): PerKeyLimit {
  const open = new Map<string, number>();
  return {
    enter: (keyId, places) => {
      const now = open.get(keyId) ?? 0;
      if (now + places > limit) return undefined;
      open.set(keyId, now + places);
      let left = false;
      return () => {
        if (left) return;
        left = true;
        const rest = open.get(keyId)! - places;
        if (rest === 0) open.delete(keyId);
        else open.set(keyId, rest);
      };
    },
  };
}
