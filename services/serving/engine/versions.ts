import type { Decoder } from '../../../shared/policy/decoding.ts';
import type { Adapter } from '../../../shared/policy/policy.ts';
import type { PolicyVersion } from './engine.ts';

/** What decodes with one adapter. */
export type BatchDecoder = Pick<
  Decoder,
  'begin' | 'read' | 'step' | 'hasRoom' | 'canStep' | 'release' | 'dispose'
>;

/** A version in memory: its adapter, a decoder of its own, and how many answers need it. */
export type LoadedVersion = {
  readonly name: string;
  readonly version: number;
  readonly decoder: BatchDecoder;
};

export type Versions = {
  /** Loads what is not there and holds it until it is let go. Rejects when the checkpoint cannot be used. */
  readonly hold: (policy: PolicyVersion) => Promise<LoadedVersion>;
  /** One that is held already, which takes no time. */
  readonly holdAgain: (loaded: LoadedVersion) => void;
  readonly letGo: (loaded: Pick<LoadedVersion, 'name'>) => void;
  /** By name, in alphabetical order. */
  readonly inMemory: () => readonly string[];
};

type Options = {
  /** Reads and checks a checkpoint. */
  readonly loadAdapter: (policy: PolicyVersion) => Promise<Adapter | undefined>;
  readonly createDecoder: (adapter: Adapter | undefined) => BatchDecoder;
  /** Versions that stay after their last answer, the latest used ones. */
  readonly kept: number;
};

/** Adapters have the base in common, and nothing else. */
const nameOf = ({ version, adapter }: PolicyVersion): string => `${adapter?.name ?? 'base'}@v${version}`;

type Memory = { readonly loaded: LoadedVersion; readonly free: () => void };
/** Counted from the moment it is asked for, so that nothing frees it while it is being loaded. */
type Entry = { readonly memory: Promise<Memory>; holds: number };

/** The versions in memory. One that nobody holds goes when too many others were used after it. */
export function createVersions({ loadAdapter, createDecoder, kept }: Options): Versions {
  const entries = new Map<string, Entry>(); // by name, in order of last use
  const decoderOf = (adapter: Adapter | undefined): BatchDecoder => {
    try {
      return createDecoder(adapter);
    } catch (error) {
      adapter?.dispose(); // it is tried again, so nothing of a failure may stay
      throw error;
    }
  };
  const load = async (policy: PolicyVersion): Promise<Memory> => {
    const adapter = await loadAdapter(policy);
    const decoder = decoderOf(adapter);
    const free = () => {
      decoder.dispose();
      adapter?.dispose();
    };
    return { loaded: { name: nameOf(policy), version: policy.version, decoder }, free };
  };
  const count = (name: string, entry: Entry): void => {
    entry.holds += 1;
    entries.delete(name);
    entries.set(name, entry);
  };
  const freeUnused = () => {
    const unused = [...entries].filter(([, entry]) => entry.holds === 0);
    for (const [name, entry] of unused.slice(0, Math.max(0, unused.length - kept))) {
      entries.delete(name);
      void entry.memory.then(({ free }) => free());
    }
  };
  return {
    hold: async (policy) => {
      const name = nameOf(policy);
      const entry = entries.get(name) ?? { memory: load(policy), holds: 0 };
      count(name, entry);
      try {
        return (await entry.memory).loaded;
      } catch (error) {
        if (entries.get(name) === entry) entries.delete(name); // the next one may find it mended
        throw error;
      }
    },
    holdAgain: ({ name }) => count(name, entries.get(name)!),
    letGo: ({ name }) => {
      const entry = entries.get(name);
      if (entry === undefined) return;
      entry.holds -= 1;
      freeUnused();
    },
    inMemory: () => [...entries.keys()].sort(),
  };
}
