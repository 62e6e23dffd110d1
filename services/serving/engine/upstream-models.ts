import { join, resolve, sep } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { PolicyVersion } from './engine.ts';
import type { SourcedVersion } from './load-version.ts';

/** A name that answers can be asked of, for as long as it is held. */
export type ModelLease = {
  readonly version: number;
  readonly model: string;
  /** What its answers are named, where that is another name: vLLM calls a base model by its first one. */
  readonly answersAs?: string;
  readonly letGo: () => void;
  /** The server does not know the name (any more): who holds it next makes it known again. */
  readonly lost: () => void;
};

/** Under which names the upstream server answers as which versions. */
export type UpstreamModels = {
  /** Loads what is not there. Rejects where the server does not take it. */
  readonly hold: (policy: PolicyVersion) => Promise<ModelLease>;
  /** An adapter's live version stays, also when nobody holds it. */
  readonly keepLive: (adapter: string, version: number) => void;
  /** By name. */
  readonly loaded: () => readonly string[];
  /** After an outage: what the server forgot is loaded again where it is held or live. */
  readonly recheck: () => Promise<void>;
};

export type ServedModel = {
  readonly id: string;
  readonly root?: string | null;
  readonly parent?: string | null;
};

/** What an upstream server does with adapters. */
export type AdapterCalls = {
  readonly list: () => Promise<readonly ServedModel[]>;
  /** Resolves where the name is loaded already, too. Rejects with the reason. */
  readonly load: (name: string, folder: string) => Promise<void>;
  readonly unload: (name: string) => Promise<void>;
};

type Options = {
  readonly calls: AdapterCalls;
  /** Name of the base model there; undefined: the first one that is no adapter. */
  readonly base: string | undefined;
  readonly adapters: readonly string[];
  /** Folder of an adapter's versions that are handed over, here; each in one of its own name. */
  readonly folderOf: (adapter: string) => string;
  /** A folder here, and the same one as the server sees it. */
  readonly mapping: { readonly from: string; readonly to: string } | undefined;
  /** Puts a version there. Rejects when its numbers are not those that were promoted. */
  readonly handOver: (policy: SourcedVersion, folder: string) => Promise<void>;
  /** What the server does not need any more. */
  readonly takeBack: (folder: string) => Promise<void>;
  /** Adapters that stay after their last answer, the latest used ones. */
  readonly kept: number;
  /** Told once of the base model, as the server was given it: a folder, or a name of the hub. */
  readonly onBase: (path: string) => void;
  readonly onUnloadFailure: (name: string, error: Error) => void;
};

type Entry = {
  readonly adapter: string;
  readonly version: number;
  readonly ready: Promise<unknown>;
  holds: number;
  isLoaded: boolean;
};

/** Tries to unload, and the waits between them. What stays costs the server a little memory. */
const UNLOAD_WAITS_MS = [500, 2_000];

/** The name says what it holds, so that none ever means something else: adapter, version, digest. */
const adapterName = (adapter: string, version: number, digest: string): string =>
  `clawloop-${adapter}-v${version}-${digest.slice(0, 8)}`;

/** Versions as LoRA adapters of an upstream server; version 0 is its base model. */
export function createUpstreamModels(options: Options): UpstreamModels {
  const { calls, adapters, handOver, takeBack, kept, onBase, onUnloadFailure } = options;
  const folderOf = (adapter: string, name: string) => join(options.folderOf(adapter), name);
  const folderThere = (adapter: string, name: string) =>
    `${asSeenThere(options.folderOf(adapter), options.mapping)}/${name}`;
  const ours = new RegExp(`^clawloop-(${adapters.join('|')})-v(\\d+)-[0-9a-f]{8}$`);
  const entries = new Map<string, Entry>(); // by name, in order of last use
  /** by adapter */
  const live = new Map<string, number>();
  let base: ReturnType<typeof findBase> | undefined;
  let basePath: string | undefined;
  let isAdopted = false;

  let last: Promise<unknown> = Promise.resolve();
  /** One change at a time: what is being unloaded is not loaded meanwhile. */
  const inTurn = <Result>(change: () => Promise<Result>): Promise<Result> => {
    const result = last.then(change);
    last = result.catch(() => {});
    return result;
  };

  const unload = async (adapter: string, name: string): Promise<void> => {
    for (const wait of [...UNLOAD_WAITS_MS, undefined]) {
      try {
        if (entries.has(name)) return; // wanted again meanwhile
        await calls.unload(name);
        return await takeBack(folderOf(adapter, name));
      } catch (error) {
        if (wait === undefined) onUnloadFailure(name, error as Error);
        else await delay(wait, undefined, { ref: false });
      }
    }
  };
  const freeUnused = (): void => {
    const unused = [...entries].filter(
      ([, { holds, adapter, version }]) => holds === 0 && version !== live.get(adapter),
    );
    for (const [name, { adapter }] of unused.slice(0, Math.max(0, unused.length - kept))) {
      entries.delete(name);
      void inTurn(() => unload(adapter, name));
    }
  };
  /** What an earlier process of ours left there is known again, and goes when it is not needed. */
  const adopt = (models: readonly ServedModel[]): void => {
    if (isAdopted) return;
    isAdopted = true;
    const found = models.flatMap(({ id, root }) => {
      const [, adapter = '', version] = ours.exec(id) ?? [];
      return version === undefined || root !== folderThere(adapter, id) || entries.has(id)
        ? []
        : [{ id, adapter, version: Number(version) }];
    });
    for (const { id, adapter, version } of found.sort((one, other) => one.version - other.version))
      entries.set(id, { adapter, version, ready: Promise.resolve(), holds: 0, isLoaded: true });
  };
  const list = async (): Promise<readonly ServedModel[]> => {
    const models = await calls.list();
    adopt(models);
    return models;
  };
  /** The same model for as long as this process lives: version 0 means nothing else. */
  const findBase = async (): Promise<{ readonly model: string; readonly answersAs: string }> => {
    const models = await list();
    const first = models.find(({ id, parent }) => parent == null && !ours.test(id));
    const found = options.base === undefined ? first : models.find(({ id }) => id === options.base);
    if (found === undefined) throw new Error(`it serves no model ${options.base ?? 'of its own'}`);
    const { id, root } = found;
    const path = root ?? id;
    if (basePath === undefined) onBase(path);
    basePath ??= path;
    if (path !== basePath) throw new Error(`it serves ${path} now, and served ${basePath} before`);
    return { model: id, answersAs: found.parent == null ? (first?.id ?? id) : id };
  };
  const load = (policy: SourcedVersion, name: string): Promise<void> =>
    inTurn(async () => {
      if ((await list()).some(({ id }) => id === name)) return;
      const adapter = policy.adapter.name;
      await handOver(policy, folderOf(adapter, name));
      await calls.load(name, folderThere(adapter, name));
    });

  const holdBase = async (): Promise<ModelLease> => {
    base ??= findBase();
    const asked = base;
    const forget = () => {
      if (base === asked) base = undefined;
    };
    const names = await asked.catch((error: Error) => {
      forget();
      throw error;
    });
    return { version: 0, ...names, letGo: () => {}, lost: forget };
  };
  const hold = async (policy: PolicyVersion): Promise<ModelLease> => {
    const { version, adapter: source } = policy;
    if (source === undefined) return holdBase();
    const name = adapterName(source.name, version, source.digest);
    const entry = entries.get(name) ?? {
      ...{ adapter: source.name, version, ready: load({ version, adapter: source }, name) },
      ...{ holds: 0, isLoaded: false },
    };
    const forget = () => {
      if (entries.get(name) === entry) entries.delete(name);
    };
    entry.holds += 1;
    entries.delete(name);
    entries.set(name, entry);
    try {
      await entry.ready;
      entry.isLoaded = true;
    } catch (error) {
      forget(); // the next one may find it mended
      throw error;
    }
    let isHeld = true;
    const letGo = () => {
      if (!isHeld) return;
      isHeld = false;
      entry.holds -= 1;
      freeUnused();
    };
    return { version, model: name, letGo, lost: forget };
  };

  return {
    hold,
    keepLive: (adapter, version) => {
      live.set(adapter, version);
      freeUnused();
    },
    loaded: () => [...entries.keys()].sort(),
    recheck: async () => {
      base = undefined;
      const loaded = [...entries].filter(([, { isLoaded }]) => isLoaded);
      const known = new Set((await calls.list()).map(({ id }) => id));
      for (const [name, entry] of loaded)
        if (!known.has(name) && entries.get(name) === entry) entries.delete(name);
    },
  };
}

/** A folder of ours under the server's path. */
function asSeenThere(folder: string, mapping: Options['mapping']): string {
  const path = resolve(folder);
  if (mapping === undefined) return path;
  const from = resolve(mapping.from);
  const inside = path === from || path.startsWith(`${from}${sep}`);
  return inside ? mapping.to.replace(/\/+$/, '') + path.slice(from.length) : path;
}

/** An engine that serves one model under one name for good. */
export const oneModel = (model: string): UpstreamModels => ({
  hold: async () => ({ version: 0, model, letGo: () => {}, lost: () => {} }),
  keepLive: () => {},
  loaded: () => [model],
  recheck: async () => {},
});
