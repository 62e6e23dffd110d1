/** Wrong keys in a row that are answered immediately: typing errors. */
const FREE = 5;
const FIRST_MS = 100;
const LONGEST_MS = 2_000;
/** ms without a wrong key until an address is forgotten */
const FORGET_MS = 600_000;
const MOST_ADDRESSES = 10_000;
/** Delayed responses at a time; further ones are not delayed, to limit memory. */
const MOST_WAITING = 1_000;

type WrongKeys = {
  /**
   * Resolves when the refusal of a wrong key may be sent. Valid keys are never delayed, so a caller cannot lock out
   * others with the same address.
   */
  readonly refuse: (address: string | undefined) => Promise<void>;
};

type Seen = { readonly count: number; readonly at: number };

/**
 * Slows down guessing: from the sixth wrong key of an address, each refusal is delayed twice as long as the previous
 * one, up to 2 s.
 *
 * @param now ms, monotonic
 * @param wait resolves after the given ms, or when the service stops
 */
export function createWrongKeys(now: () => number, wait: (ms: number) => Promise<unknown>): WrongKeys {
  const seen = new Map<string, Seen>();
  let waiting = 0;
  const count = (address: string): number => {
    const previous = seen.get(address);
    const isRecent = previous !== undefined && now() - previous.at < FORGET_MS;
    const total = (isRecent ? previous.count : 0) + 1;
    seen.delete(address); // keeps the latest last
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

/** An IPv6 customer has 2^64 addresses, so only the network part counts. */
const networkOf = (address: string): string =>
  address.includes(':') && !address.includes('.') ? address.split(':').slice(0, 4).join(':') : address;
