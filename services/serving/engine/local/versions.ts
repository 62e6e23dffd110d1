import type { Decoder } from '../../../../shared/policy/decode/decoding.ts';
import type { Adapter } from '../../../../shared/policy/model/policy.ts';
import type { PolicyVersion } from '../../generation.ts';

/** A decoder of one adapter. */
export type BatchDecoder = Pick<
  Decoder,
  'begin' | 'read' | 'step' | 'hasRoom' | 'canStep' | 'release' | 'dispose'
>;

/** A version in memory. */
export type LoadedVersion = {
  readonly name: string;
  readonly version: number;
  readonly decoder: BatchDecoder;
};

export type Versions = {
  /** Loads the version if needed, and keeps it until it is released. Rejects if it cannot be loaded. */
  readonly retain: (policy: PolicyVersion) => Promise<LoadedVersion>;
  /** Retains a version that is already retained. */
  readonly retainAgain: (loaded: LoadedVersion) => void;
  readonly release: (loaded: Pick<LoadedVersion, 'name'>) => void;
  /** Names in alphabetical order. */
  readonly inMemory: () => readonly string[];
};

type Options = {
  /** Reads and checks a checkpoint. */
  readonly loadAdapter: (policy: PolicyVersion) => Promise<Adapter | undefined>;
  readonly createDecoder: (adapter: Adapter | undefined) => BatchDecoder;
  /** Number of unused versions to keep, the most recently used ones. */
  readonly kept: number;
};

/** All adapters share the base version. */
const nameOf = ({ version, adapter }: PolicyVersion): string => `${adapter?.name ?? 'base'}@v${version}`;

type Memory = { readonly loaded: LoadedVersion; readonly free: () => void };
/** Counted from the request on, so that the version is not freed while it loads. */
type Entry = { readonly memory: Promise<Memory>; users: number };

/** The versions in memory. An unused version is freed when enough others were used after it. */
export function createVersions({ loadAdapter, createDecoder, kept }: Options): Versions {
  const entries = new Map<string, Entry>(); // by name, in order of last use
  const decoderOf = (adapter: Adapter | undefined): BatchDecoder => {
    try {
      return createDecoder(adapter);
    } catch (error) {
      adapter?.dispose(); // a retry follows, so a failure must leave nothing in memory
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
    entry.users += 1;
    entries.delete(name);
    entries.set(name, entry);
  };
  const freeUnused = () => {
    const unused = [...entries].filter(([, entry]) => entry.users === 0);
    for (const [name, entry] of unused.slice(0, Math.max(0, unused.length - kept))) {
      entries.delete(name);
      void entry.memory.then(({ free }) => free());
    }
  };
  return {
    retain: async (policy) => {
      const name = nameOf(policy);
      const entry = entries.get(name) ?? { memory: load(policy), users: 0 };
      count(name, entry);
      try {
        return (await entry.memory).loaded;
      } catch (error) {
        if (entries.get(name) === entry) entries.delete(name); // a later attempt may succeed
        throw error;
      }
    },
    retainAgain: ({ name }) => count(name, entries.get(name)!),
    release: ({ name }) => {
      const entry = entries.get(name);
      if (entry === undefined) return;
      entry.users -= 1;
      freeUnused();
    },
    inMemory: () => [...entries.keys()].sort(),
  };
}
