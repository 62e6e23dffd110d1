/** Bytes in open requests, by access key. */
type BytesUnderWay = {
  /** Adds bytes of a key; false if they exceed the limit. The first request of a key always fits. */
  readonly add: (keyId: string, bytes: number) => boolean;
  readonly remove: (keyId: string, bytes: number) => void;
  readonly of: (keyId: string) => number;
};

export function createBytesUnderWay(limit: number): BytesUnderWay {
  const byKey = new Map<string, number>();
  const of = (keyId: string) => byKey.get(keyId) ?? 0;
  return {
    of,
    add: (keyId, bytes) => {
      const now = of(keyId);
      if (now > 0 && now + bytes > limit) return false;
      byKey.set(keyId, now + bytes);
      return true;
    },
    remove: (keyId, bytes) => {
      const left = of(keyId) - bytes;
      if (left <= 0) byKey.delete(keyId);
      else byKey.set(keyId, left);
    },
  };
}
