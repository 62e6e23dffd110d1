import type { RecentPrompt } from './recent-prompts.ts';
import type { LoadedVersion } from './versions.ts';

export type PrefixWarmer = {
  /** Resolves when the prompts are read, or when it is time to do without; a warming under way ends. */
  readonly warm: (version: LoadedVersion, prompts: readonly RecentPrompt[]) => Promise<void>;
  readonly stop: () => void;
  readonly isActive: () => boolean;
  /** Once between two steps: reads the next piece where it may, and ends when its time is over. */
  readonly goOn: (mayRead: boolean) => void;
  /** Gives up its place in the cache for those who wait for an answer. @returns false: it has none */
  readonly giveUpPlace: () => boolean;
};

/** One for each adapter: what is read for one does not keep another from being served. */
export type PrefixWarmers = Pick<PrefixWarmer, 'isActive' | 'goOn' | 'giveUpPlace'> & {
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
    goOn: (mayRead) => {
      for (const [index, warmer] of active().entries()) warmer.goOn(mayRead && index === 0);
    },
    giveUpPlace: () => active().some((warmer) => warmer.giveUpPlace()),
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
 * Reads the prompts of the latest conversations on a version that is about to be served, so that their next
 * turns find them known: keys and values of other weights are of no use to it.
 *
 * @param limitMs how long a version may be kept waiting
 * @param now ms, monotonic
 */
export function createPrefixWarmer(limitMs: number, now: () => number): PrefixWarmer {
  let warming: Warming | undefined;
  const leavePlace = ({ version, slot }: Warming): void => {
    if (slot !== undefined) version.decoder.release(slot);
  };
  const end = (): void => {
    const ended = warming;
    warming = undefined;
    if (ended === undefined) return;
    leavePlace(ended);
    ended.done();
  };
  const begin = (current: Warming): void => {
    const [prompt, ...rest] = current.prompts;
    current.prompts = rest;
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
    goOn: (mayRead) => {
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
        leavePlace(current);
        current.slot = undefined;
      } catch {
        end(); // the version is served all the same; what is wrong with it shows in its answers
      }
    },
    giveUpPlace: () => {
      if (warming?.slot === undefined) return false;
      end();
      return true;
    },
  };
}
