import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as breath } from 'node:timers/promises';
import { promisify } from 'node:util';
import { deserialize, serialize } from 'node:v8';
import { gzip } from 'node:zlib';
import { packTar } from 'modern-tar';
import type { AdapterFile } from '../../shared/policy/checkpoints/adapter-files.ts';
import {
  adapterFiles,
  BadRequest,
  type FakeAdam,
  type FakeDatum,
  type FakeModel,
  snapshot,
  type TrainedModels,
} from './trained-models.ts';

type Saved = ReturnType<typeof snapshot>;

export type HeldModel = FakeModel & {
  readonly id: string;
  readonly session: string;
  /** of the last executed request */
  sequence: number;
  requests: number;
};

/** Models in memory, saved states on disk: what a restart loses and keeps. */
export function createFakeEngine(trained: TrainedModels, folder: string, mostModels: number) {
  const models = new Map<string, HeldModel>();
  const known = new Set<string>();
  const counts = { optimizerSteps: 0, modelsCreated: 0, statesLoaded: 0 };
  const placeOf = (path: string) =>
    join(folder, `${path.replace('tinker://', '').replaceAll('/', '+')}.state`);
  mkdirSync(folder, { recursive: true });
  const read = (path: string): Saved | undefined => {
    try {
      return deserialize(readFileSync(placeOf(path))) as Saved;
    } catch {
      return undefined;
    }
  };
  const modelOf = (id: string): HeldModel => {
    const model = models.get(id);
    if (model !== undefined) return model;
    throw new BadRequest(known.has(id) ? `Model ${id} not loaded` : `Model '${id}' not found`);
  };
  return {
    models,
    counts,
    modelOf,
    create: (id: string, session: string, settings: { rank: number; alpha: number; seed: number }) => {
      if (models.size >= mostModels)
        throw new BadRequest(`Maximum number of LoRA adapters (${mostModels + 1}) reached`);
      known.add(id);
      counts.modelsCreated += 1;
      const { rank, alpha, seed } = settings;
      models.set(id, { ...trained.create(rank, alpha, seed), id, session, sequence: 0, requests: 0 });
    },
    unload: (id: string) => models.delete(id),
    pass: async (id: string, loss: string, data: readonly FakeDatum[], backward: boolean) => {
      const model = modelOf(id);
      await breath();
      return trained.pass(model, loss, data, backward);
    },
    optimize: (id: string, adam: FakeAdam): number | null => {
      const model = modelOf(id);
      counts.optimizerSteps += 1;
      try {
        return trained.optimize(model, adam);
      } catch {
        return null; // applied, in a real server: the model is lost
      }
    },
    save: (path: string, id: string) => writeFileSync(placeOf(path), serialize(snapshot(modelOf(id)))),
    isSaved: (path: string) => read(path) !== undefined,
    remove: (path: string) => rmSync(placeOf(path), { force: true }),
    states: () =>
      readdirSync(folder)
        .filter((name) => name.endsWith('.state'))
        .map((name) => `tinker://${name.slice(0, -'.state'.length).replaceAll('+', '/')}`)
        .sort(),
    load: (id: string, path: string, isFirst: boolean) => {
      const model = modelOf(id);
      if (!isFirst) throw new BadRequest('load_weights must be the first request of a model');
      const saved = read(path);
      if (saved === undefined) throw new BadRequest(`Checkpoint not found: ${path}`);
      if (saved.adapter.config.rank !== model.adapter.config.rank) throw new BadRequest('the rank differs');
      counts.statesLoaded += 1;
      models.set(id, { ...model, ...saved });
    },
    archive: async (path: string): Promise<Uint8Array | undefined> => {
      const saved = read(path);
      if (saved === undefined) return undefined;
      const files = await adapterFiles(saved.adapter);
      const entries = [...files].map(([name, body]) => ({
        header: { name: `./${name}`, size: body.byteLength, type: 'file' as const },
        body,
      }));
      return promisify(gzip)(await packTar(entries));
    },
    files: async (path: string) => {
      const saved = read(path);
      return saved && adapterFiles(saved.adapter);
    },
    topTokens: (adapter: AdapterFile, tokens: readonly number[], count: number) =>
      trained.topTokens(adapter, tokens, count),
    /** Everything in memory is gone. */
    restart: () => models.clear(),
  };
}

export type FakeEngine = ReturnType<typeof createFakeEngine>;
