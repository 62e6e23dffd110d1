/** Wrong keys in a row that are answered at once: somebody mistypes. */
const FREE = 5;
const FIRST_MS = 100;
const LONGEST_MS = 2_000;
/** ms without a wrong key after which an address is forgotten */
const FORGET_MS = 600_000;
const MOST_ADDRESSES = 10_000;
/** Answers that are held back at once; more go out at once, so that waiting costs no memory. */
const MOST_WAITING = 1_000;

export type WrongKeys = {
  /**
   * Resolves when the refusal of a wrong key may go out. Right keys never come here: nobody locks out another
   * caller of the same address.
   */
  readonly refuse: (address: string | undefined) => Promise<void>;
};

type Seen = { readonly count: number; readonly at: number };

/**
 * Slows those who try keys: from the sixth wrong one of an address on its refusals wait, twice as long each
 * time, 2 s at most.
 *
 * @param now ms, monotonic
 * @param wait resolves after so many ms, or when the service ends
 */
export function createWrongKeys(now: () => number, wait: (ms: number) => Promise<unknown>): WrongKeys {
  const seen = new Map<string, Seen>();
  let waiting = 0;
  const count = (address: string): number => {
    const before = seen.get(address);
    const isRecent = before !== undefined && now() - before.at < FORGET_MS;
    const total = (isRecent ? before.count : 0) + 1;
    seen.delete(address); // the latest stand last
    seen.set(address, { count: total, at: now() });
    if (seen.size > MOST_ADDRESSES) seen.delete(seen.keys().next().value!);
    return total;
  };
  return {
    refuse: async (address) => {
      const ms = delayOf(count(networkOf(address ?? '')));
      if (ms === 0 || waiting >= MOST_WAITING) return;
      waiting += 1;
      try {
        await wait(ms);
      } finally {
        waiting -= 1;
      }
    },
  };
}

const delayOf = (count: number): number =>
  count <= FREE ? 0 : Math.min(LONGEST_MS, FIRST_MS * 2 ** (count - FREE - 1));

/** One household has 2^64 addresses of IPv6. */
const networkOf = (address: string): string =>
  address.includes(':') && !address.includes('.') ? address.split(':').slice(0, 4).join(':') : address;
