import type { Adapter } from '../../../shared/policy/policy.ts';
import type { PolicyVersion } from './engine.ts';

/** What decodes with one adapter; see shared/policy/decoding.ts. */
export type BatchDecoder = {
  readonly admit: (promptIds: readonly number[]) => { readonly slot: number; readonly logits: Float32Array };
  readonly step: (
    entries: readonly { readonly slot: number; readonly id: number }[],
  ) => readonly Float32Array[];
  readonly release: (slot: number) => void;
  readonly dispose: () => void;
};

/** A version in memory: its adapter, a decoder of its own, and how many answers need it. */
export type LoadedVersion = {
  readonly version: number;
  readonly decoder: BatchDecoder;
};

export type Versions = {
  /** Loads what is not there and holds it until it is let go. Rejects when the checkpoint cannot be used. */
  readonly hold: (policy: PolicyVersion) => Promise<LoadedVersion>;
  readonly letGo: (version: number) => void;
  readonly inMemory: () => readonly number[];
  readonly dispose: () => void;
};

type Options = {
  /** Reads and checks a checkpoint. */
  readonly loadAdapter: (policy: PolicyVersion) => Promise<Adapter | undefined>;
  readonly createDecoder: (adapter: Adapter | undefined) => BatchDecoder;
  /** Versions that stay after their last answer, the latest used ones. */
  readonly kept: number;
};

type Entry = { readonly loaded: LoadedVersion; readonly free: () => void; holds: number };

/** The versions in memory. One that nobody holds goes when too many others were used after it. */
export function createVersions({ loadAdapter, createDecoder, kept }: Options): Versions {
  const entries = new Map<number, Entry>(); // in order of last use
  const loading = new Map<number, Promise<Entry>>();
  const load = async (policy: PolicyVersion): Promise<Entry> => {
    const adapter = await loadAdapter(policy);
    const decoder = createDecoder(adapter);
    const free = () => {
      decoder.dispose();
      adapter?.dispose();
    };
    const entry: Entry = { loaded: { version: policy.version, decoder }, free, holds: 0 };
    entries.set(policy.version, entry);
    return entry;
  };
  const freeUnused = () => {
    const unused = [...entries].filter(([, entry]) => entry.holds === 0);
    for (const [version, entry] of unused.slice(0, Math.max(0, unused.length - kept))) {
      entries.delete(version);
      entry.free();
    }
  };
  return {
    hold: async (policy) => {
      const { version } = policy;
      let entry = entries.get(version);
      if (entry === undefined) {
        const pending = loading.get(version) ?? load(policy).finally(() => loading.delete(version));
        loading.set(version, pending);
        entry = await pending;
      }
      entry.holds += 1;
      entries.delete(version);
      entries.set(version, entry);
      return entry.loaded;
    },
    letGo: (version) => {
      const entry = entries.get(version);
      if (entry === undefined) return;
      entry.holds -= 1;
      freeUnused();
    },
    inMemory: () => [...entries.keys()].sort((a, b) => a - b),
    dispose: () => {
      for (const { free } of entries.values()) free();
      entries.clear();
    },
  };
}
