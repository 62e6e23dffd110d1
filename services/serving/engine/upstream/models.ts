import { join, resolve, sep } from 'node:path';
import { createMutex, retry } from '../../../../shared/lang/async.ts';
import type { PolicyVersion } from '../../generation.ts';
import type { SourcedVersion } from '../local/load-version.ts';

/** A model name that is loaded until it is released. */
export type ModelLease = {
  readonly version: number;
  readonly model: string;
  /** The name in its answers, if it differs: vLLM uses the first name of a base model. */
  readonly answersAs?: string;
  readonly release: () => void;
  /** Reports that the server does not know the name; the next lease loads it again. */
  readonly lost: () => void;
};

/** The versions of the upstream server and their names. */
export type UpstreamModels = {
  /** Loads the version if needed. Rejects if the server cannot load it. */
  readonly lease: (policy: PolicyVersion) => Promise<ModelLease>;
  /** Keeps the live version of an adapter loaded, even without leases. */
  readonly keepLive: (adapter: string, version: number) => void;
  /** Names in alphabetical order. */
  readonly loaded: () => readonly string[];
  /** Runs work while no adapter is loaded or unloaded, with all names that the server lists or that are in use here. */
  readonly withNames: (work: (names: ReadonlySet<string>) => Promise<void>) => Promise<void>;
  /** After an outage: forgets names that the server lost, so that they are loaded again on demand. */
  readonly recheck: () => Promise<void>;
};

export type ServedModel = {
  readonly id: string;
  readonly root?: string | null;
  readonly parent?: string | null;
};

/** The adapter calls of an upstream server. */
export type AdapterCalls = {
  readonly list: () => Promise<readonly ServedModel[]>;
  /** Also resolves if the name is already loaded. Rejects with the reason. */
  readonly load: (name: string, folder: string) => Promise<void>;
  readonly unload: (name: string) => Promise<void>;
};

type Options = {
  readonly calls: AdapterCalls;
  /** Name of the base model on the server; undefined: the first model that is not an adapter. */
  readonly base: string | undefined;
  readonly adapters: readonly string[];
  /** Local folder of an adapter's exported versions; each has a subfolder with its name. */
  readonly folderOf: (adapter: string) => string;
  /** A local folder and the same folder as the server sees it. */
  readonly mapping: { readonly from: string; readonly to: string } | undefined;
  /** Exports a version. Rejects if its weights are not the promoted ones. */
  readonly handOver: (policy: SourcedVersion, folder: string) => Promise<void>;
  /** Removes an exported version that the server has unloaded. */
  readonly takeBack: (folder: string) => Promise<void>;
  /** Number of unused adapters to keep loaded, the most recently used ones. */
  readonly kept: number;
  /** Called once with the path of the base model: a folder, or a name of the hub. */
  readonly onBase: (path: string) => void;
  readonly onUnloadFailure: (name: string, error: Error) => void;
};

type Entry = {
  readonly adapter: string;
  readonly version: number;
  readonly ready: Promise<unknown>;
  leases: number;
  isLoaded: boolean;
};

/** Waits between attempts to unload. An adapter that stays costs the server a little memory. */
const UNLOAD_WAITS_MS = [500, 2_000];

/** Contains adapter, version and digest, so that a name never changes its meaning. */
const adapterName = (adapter: string, version: number, digest: string): string =>
  `clawloop-${adapter}-v${version}-${digest.slice(0, 8)}`;

/** Versions as LoRA adapters of an upstream server; version 0 is its base model. */
export const createUpstreamModels = (options: Options): UpstreamModels => new AdapterModels(options);

class AdapterModels implements UpstreamModels {
  readonly #options: Options;
  readonly #base: BaseModel;
  /** Names of our adapters. */
  readonly #ours: RegExp;
  /** By name, in order of last use. */
  readonly #entries = new Map<string, Entry>();
  /** by adapter */
  readonly #live = new Map<string, number>();
  /** One change at a time, so that an adapter is not loaded while it is being unloaded. */
  readonly #serialise = createMutex();
  #isAdopted = false;

  constructor(options: Options) {
    this.#options = options;
    this.#ours = new RegExp(`^clawloop-(${options.adapters.join('|')})-v(\\d+)-[0-9a-f]{8}$`);
    this.#base = createBaseModel({
      list: () => this.#list(),
      isAdapter: ({ id }) => this.#ours.test(id),
      name: options.base,
      onBase: options.onBase,
    });
  }

  async lease({ version, adapter }: PolicyVersion): Promise<ModelLease> {
    if (adapter === undefined) return this.#base.lease();
    const name = adapterName(adapter.name, version, adapter.digest);
    const entry = this.#entries.get(name) ?? {
      adapter: adapter.name,
      version,
      ready: this.#load({ version, adapter }, name),
      leases: 0,
      isLoaded: false,
    };
    const forget = () => {
      if (this.#entries.get(name) === entry) this.#entries.delete(name);
    };
    entry.leases += 1;
    this.#entries.delete(name);
    this.#entries.set(name, entry);
    try {
      await entry.ready;
      entry.isLoaded = true;
    } catch (error) {
      forget(); // a later attempt may succeed
      throw error;
    }
    let isReleased = false;
    const release = () => {
      if (isReleased) return;
      isReleased = true;
      entry.leases -= 1;
      this.#freeUnused();
    };
    return { version, model: name, release, lost: forget };
  }

  keepLive(adapter: string, version: number): void {
    this.#live.set(adapter, version);
    this.#freeUnused();
  }

  loaded(): readonly string[] {
    return [...this.#entries.keys()].sort();
  }

  withNames(work: (names: ReadonlySet<string>) => Promise<void>): Promise<void> {
    return this.#serialise(async () => {
      const listed = (await this.#list()).map(({ id }) => id);
      await work(new Set([...listed, ...this.#entries.keys()]));
    });
  }

  async recheck(): Promise<void> {
    this.#base.forget();
    const loaded = [...this.#entries].filter(([, { isLoaded }]) => isLoaded);
    const known = new Set((await this.#options.calls.list()).map(({ id }) => id));
    for (const [name, entry] of loaded)
      if (!known.has(name) && this.#entries.get(name) === entry) this.#entries.delete(name);
  }

  #load(policy: SourcedVersion, name: string): Promise<void> {
    const { calls, handOver } = this.#options;
    return this.#serialise(async () => {
      if ((await this.#list()).some(({ id }) => id === name)) return;
      const adapter = policy.adapter.name;
      await handOver(policy, this.#folderOf(adapter, name));
      await calls.load(name, this.#serverFolder(adapter, name));
    });
  }

  async #list(): Promise<readonly ServedModel[]> {
    const models = await this.#options.calls.list();
    this.#adopt(models);
    return models;
  }

  /** Adopts adapters that an earlier process loaded, so that unused ones are unloaded. */
  #adopt(models: readonly ServedModel[]): void {
    if (this.#isAdopted) return;
    this.#isAdopted = true;
    const adopted = models.flatMap(({ id, root }) => {
      const [, adapter = '', version] = this.#ours.exec(id) ?? [];
      return version === undefined || root !== this.#serverFolder(adapter, id) || this.#entries.has(id)
        ? []
        : [{ id, adapter, version: Number(version) }];
    });
    for (const { id, adapter, version } of adopted.sort((a, b) => a.version - b.version))
      this.#entries.set(id, { adapter, version, ready: Promise.resolve(), leases: 0, isLoaded: true });
  }

  #freeUnused(): void {
    const { kept, onUnloadFailure } = this.#options;
    const unused = [...this.#entries].filter(
      ([, { leases, adapter, version }]) => leases === 0 && version !== this.#live.get(adapter),
    );
    for (const [name, { adapter }] of unused.slice(0, Math.max(0, unused.length - kept))) {
      this.#entries.delete(name);
      const unloading = () => retry(() => this.#unload(adapter, name), { waits: UNLOAD_WAITS_MS });
      this.#serialise(unloading).catch((error: Error) => onUnloadFailure(name, error));
    }
  }

  async #unload(adapter: string, name: string): Promise<void> {
    if (this.#entries.has(name)) return; // needed again
    await this.#options.calls.unload(name);
    await this.#options.takeBack(this.#folderOf(adapter, name));
  }

  #folderOf(adapter: string, name: string): string {
    return join(this.#options.folderOf(adapter), name);
  }

  #serverFolder(adapter: string, name: string): string {
    return `${seenByServer(this.#options.folderOf(adapter), this.#options.mapping)}/${name}`;
  }
}

type BaseModel = {
  readonly lease: () => Promise<ModelLease>;
  /** Looks the model up again at the next lease. */
  readonly forget: () => void;
};

type BaseOptions = Pick<Options, 'onBase'> & {
  readonly list: () => Promise<readonly ServedModel[]>;
  readonly isAdapter: (model: ServedModel) => boolean;
  /** Undefined: the first model that is not an adapter. */
  readonly name: string | undefined;
};

/** Version 0: always the same model during this process. */
function createBaseModel({ list, isAdapter, name, onBase }: BaseOptions): BaseModel {
  let base: ReturnType<typeof findBase> | undefined;
  let basePath: string | undefined;
  const findBase = async (): Promise<{ readonly model: string; readonly answersAs: string }> => {
    const models = await list();
    const first = models.find((model) => model.parent == null && !isAdapter(model));
    const chosen = name === undefined ? first : models.find(({ id }) => id === name);
    if (chosen === undefined)
      throw new Error(name === undefined ? 'it serves no base model' : `it serves no model ${name}`);
    const { id, root } = chosen;
    const path = root ?? id;
    if (basePath === undefined) onBase(path);
    basePath ??= path;
    if (path !== basePath) throw new Error(`it now serves ${path} instead of ${basePath}`);
    return { model: id, answersAs: chosen.parent == null ? (first?.id ?? id) : id };
  };
  return {
    lease: async () => {
      base ??= findBase();
      const current = base;
      const forget = () => {
        if (base === current) base = undefined;
      };
      const names = await current.catch((error: Error) => {
        forget();
        throw error;
      });
      return { version: 0, ...names, release: () => {}, lost: forget };
    },
    forget: () => {
      base = undefined;
    },
  };
}

/** A local folder as the server sees it. */
function seenByServer(folder: string, mapping: Options['mapping']): string {
  const path = resolve(folder);
  if (mapping === undefined) return path;
  const from = resolve(mapping.from);
  const inside = path === from || path.startsWith(`${from}${sep}`);
  return inside ? mapping.to.replace(/\/+$/, '') + path.slice(from.length) : path;
}

/** A server with a single model and no adapters. */
export const oneModel = (model: string): UpstreamModels => ({
  lease: async () => ({ version: 0, model, release: () => {}, lost: () => {} }),
  keepLive: () => {},
  loaded: () => [model],
  withNames: (work) => work(new Set()),
  recheck: async () => {},
});
