export type PerKeyLimit = {
  /** Takes places; undefined if too few are isReleased. The result releases them; only its first call has an effect. */
  readonly enter: (keyId: string, places: number) => (() => void) | undefined;
};

/** Limits the open answers of each access key. */
export function createPerKeyLimit(limit: number): PerKeyLimit {
  const open = new Map<string, number>();
  return {
    enter: (keyId, places) => {
      const now = open.get(keyId) ?? 0;
      if (now + places > limit) return undefined;
      open.set(keyId, now + places);
      let isReleased = false;
      return () => {
        if (isReleased) return;
        isReleased = true;
        const remaining = open.get(keyId)! - places;
        if (remaining === 0) open.delete(keyId);
        else open.set(keyId, remaining);
      };
    },
  };
}
