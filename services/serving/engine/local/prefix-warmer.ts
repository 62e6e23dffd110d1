import type { RecentPrompt } from './recent-prompts.ts';
import type { LoadedVersion } from './versions.ts';

type PrefixWarmer = {
  /** Resolves when the prompts are read or the time limit is reached. Ends a warm-up in progress. */
  readonly warm: (version: LoadedVersion, prompts: readonly RecentPrompt[]) => Promise<void>;
  readonly stop: () => void;
  readonly isActive: () => boolean;
  /** Called between two steps: reads the next piece if allowed, and ends at the time limit. */
  readonly advance: (mayRead: boolean) => void;
  /** Frees its slot for an answer that waits. @returns false if it has none */
  readonly freeSlot: () => boolean;
};

/** One warmer per adapter, so that one adapter does not delay another. */
type PrefixWarmers = Pick<PrefixWarmer, 'isActive' | 'advance' | 'freeSlot'> & {
  readonly of: (adapter: string) => Pick<PrefixWarmer, 'warm' | 'stop'>;
};

export function createPrefixWarmers(limitMs: number, now: () => number): PrefixWarmers {
  const warmers = new Map<string, PrefixWarmer>();
  const active = () => [...warmers.values()].filter((warmer) => warmer.isActive());
  return {
    of: (adapter) => {
      const warmer = warmers.get(adapter) ?? createPrefixWarmer(limitMs, now);
      warmers.set(adapter, warmer);
      return warmer;
    },
    isActive: () => active().length > 0,
    advance: (mayRead) => {
      for (const [index, warmer] of active().entries()) warmer.advance(mayRead && index === 0);
    },
    freeSlot: () => active().some((warmer) => warmer.freeSlot()),
  };
}

type Warming = {
  readonly version: LoadedVersion;
  readonly until: number;
  readonly done: () => void;
  prompts: readonly RecentPrompt[];
  slot: number | undefined;
};

/**
 * Reads the prompts of the latest conversations with a version that is about to be served, so that their next
 * turns find them cached. Keys and values of other weights cannot be reused.
 *
 * @param limitMs how long a version may wait for its warm-up
 * @param now ms, monotonic
 */
export function createPrefixWarmer(limitMs: number, now: () => number): PrefixWarmer {
  let warming: Warming | undefined;
  const releaseSlot = ({ version, slot }: Warming): void => {
    if (slot !== undefined) version.decoder.release(slot);
  };
  const end = (): void => {
    const ended = warming;
    warming = undefined;
    if (ended === undefined) return;
    releaseSlot(ended);
    ended.done();
  };
  const begin = (current: Warming): void => {
    const [prompt, ...others] = current.prompts;
    current.prompts = others;
    const { decoder } = current.version;
    if (prompt !== undefined && decoder.hasRoom(prompt.promptIds.length))
      current.slot = decoder.begin(prompt.promptIds, prompt.cacheSalt);
  };
  return {
    warm: async (version, prompts) => {
      end();
      if (prompts.length === 0) return;
      await new Promise<void>((done) => {
        warming = { version, until: now() + limitMs, done, prompts, slot: undefined };
      });
    },
    stop: end,
    isActive: () => warming !== undefined,
    advance: (mayRead) => {
      const current = warming;
      if (current === undefined) return;
      if (now() > current.until || (current.slot === undefined && current.prompts.length === 0)) {
        end();
        return;
      }
      if (!mayRead) return;
      try {
        if (current.slot === undefined) begin(current);
        if (current.slot === undefined || current.version.decoder.read(current.slot) === undefined) return;
        releaseSlot(current);
        current.slot = undefined;
      } catch {
        end(); // the version is served anyway; its answers will show the error
      }
    },
    freeSlot: () => {
      if (warming?.slot === undefined) return false;
      end();
      return true;
    },
  };
}
