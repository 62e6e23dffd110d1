import { lstat, mkdir, mkdtemp, readdir, readFile, readlink, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { HubSettings } from '../../shared/hub/config.ts';
import { HubRefused, HubUnreachable } from '../../shared/hub/errors.ts';
import { type FetchModelOptions, fetchModel, type Progress } from '../../shared/hub/fetch-model.ts';
import { findModel } from '../../shared/hub/find-model.ts';
import { cachedModel } from '../../shared/hub/hub-cache.ts';
import { openCheckpoint } from '../../shared/policy/checkpoints/checkpoint.ts';
import { UnsupportedModel } from '../../shared/policy/model/model-config.ts';
import { modelFolder } from '../../shared/policy/model/model-folder.ts';
import { loadTokenizer } from '../../shared/policy/text/tokenizer.ts';
import { makeRandomModel, randomModels } from '../fixtures/make-random-model.ts';
import { type Repository, startHubServer } from './hub-server.ts';

const commit = 'a'.repeat(40);
const hubId = { id: 'someone/small', revision: 'main' };
const token = 'hf_secretsecret';

let root = '';
let hub: HubSettings;
let server: Awaited<ReturnType<typeof startHubServer>>;
let model: Map<string, Buffer>;
let abort: AbortController;
let progress: Progress[];
let options: FetchModelOptions;

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'hub-'));
  const source = join(root, 'source');
  const config = { ...randomModels['smollm2-135m'], vocabularySize: 1100, layers: 1, intermediateSize: 64 };
  await makeRandomModel(source, config);
  model = new Map();
  for (const name of await readdir(source)) model.set(name, await readFile(join(source, name)));
  const others = ['README.md', 'pytorch_model.bin', 'onnx/model.onnx', 'model.fp16.safetensors'];
  const all = new Map([...model, ...others.map((name) => [name, Buffer.from('not asked for')] as const)]);
  server = await startHubServer({
    'someone/small': { commit, files: all },
    'someone/gated': { commit, files: all, token },
    'someone/moe': {
      commit,
      files: new Map([...all, ['config.json', Buffer.from('{"model_type":"mixtral"}')]]),
    },
    'someone/pickled': { commit, files: without(all, 'model.safetensors') },
  });
  hub = { cache: join(root, 'cache'), url: server.url, token: undefined, plainHttp: false };
  abort = new AbortController();
  progress = [];
  options = {
    onProgress: (step) => progress.push(step),
    onWaiting: () => {},
    signal: abort.signal,
    retryMs: 1,
    idleMs: 20_000,
  };
});
afterEach(async () => {
  await server.close();
  await rm(root, { recursive: true });
});

const without = (files: Repository['files'], name: string): Repository['files'] =>
  new Map([...files].filter(([path]) => path !== name));
const total = (): number => [...model.values()].reduce((sum, { length }) => sum + length, 0);
const weightRanges = (): (string | undefined)[] =>
  server.served
    .filter(({ path, range }) => path.startsWith('/cdn/') && range !== 'bytes=0-0')
    .map(({ range }) => range);

test('a model comes whole, in the layout of the shared cache, and nothing else comes', async () => {
  const folder = await fetchModel(hub, hubId, options);
  expect(folder).toBe(join(hub.cache, 'models--someone--small', 'snapshots', commit));
  expect((await readdir(folder)).sort()).toEqual([...model.keys()].sort());
  for (const [name, bytes] of model) {
    expect((await readFile(join(folder, name))).equals(bytes)).toBe(true);
    expect((await lstat(join(folder, name))).isSymbolicLink()).toBe(true);
    expect(await readlink(join(folder, name))).toMatch(/^\.\.\/\.\.\/blobs\/[0-9a-f]{40,64}$/);
  }
  expect(await readFile(join(hub.cache, 'models--someone--small', 'refs', 'main'), 'utf8')).toBe(commit);
  expect(progress.at(-1)).toMatchObject({ id: 'someone/small', done: total(), total: total() });
  await openCheckpoint(folder);
  await loadTokenizer(folder);
});

test('what is in the cache is found without a request, also by its commit', async () => {
  const settings = { model: 'someone/small', hubCache: hub.cache, hubUrl: hub.url };
  const folder = await findModel(settings, options);
  const asked = server.served.length;
  expect(await findModel(settings, options)).toBe(folder);
  expect(await findModel({ ...settings, model: `someone/small@${commit}` }, options)).toBe(folder);
  expect(server.served.length).toBe(asked);
  await server.close();
  expect(await findModel(settings, options)).toBe(folder);
});

test('a snapshot that another tool left half is not taken for a model, and is completed', async () => {
  const folder = join(hub.cache, 'models--someone--small', 'snapshots', commit);
  await mkdir(folder, { recursive: true });
  await mkdir(join(folder, '../../refs'));
  await writeFile(join(folder, '../../refs/main'), commit);
  await writeFile(join(folder, 'config.json'), model.get('config.json')!);
  expect(cachedModel(hub.cache, hubId)).toBeUndefined();
  expect(await fetchModel(hub, hubId, options)).toBe(folder);
  expect(cachedModel(hub.cache, hubId)).toBe(folder);
});

test('a connection that breaks is taken up where it broke', async () => {
  const folder = await fetchTextsThen([
    { type: 'cut', after: 1000 },
    { type: 'status', status: 503 },
    { type: 'cut', after: 500 },
  ]);
  expect((await readFile(join(folder, 'model.safetensors'))).equals(model.get('model.safetensors')!)).toBe(
    true,
  );
  const last = model.get('model.safetensors')!.length - 1;
  const ranges = weightRanges();
  expect(ranges).toHaveLength(4);
  expect(ranges[0]).toBeUndefined();
  const starts = ranges.slice(1).map((range) => Number(/^bytes=(\d+)-/.exec(range!)![1]));
  expect(starts[0]).toBeGreaterThan(0);
  expect(starts[1]).toBe(starts[0]);
  expect(starts[2]).toBeGreaterThan(starts[1]!);
  for (const range of ranges.slice(1)) expect(range!.endsWith(`-${last}`)).toBe(true);
});

/** Faults are for the weights, which come last. */
async function fetchTextsThen(faults: (typeof server.faults)[number][]): Promise<string> {
  const onProgress = (step: Progress) => {
    if (step.path === 'model.safetensors') server.faults.push(...faults.splice(0));
    progress.push(step);
  };
  return fetchModel(hub, hubId, { ...options, onProgress });
}

test('a connection that falls silent is given up and taken up again', async () => {
  options = { ...options, idleMs: 1000 };
  await fetchTextsThen([{ type: 'hang', after: 1000 }]);
  expect(weightRanges().length).toBeGreaterThan(1);
  expect(weightRanges()[1]).toMatch(/^bytes=[1-9]\d*-/);
});

test('a process that was stopped half-way leaves what it has; the next one goes on from there', async () => {
  const onProgress = ({ path, done }: Progress) => {
    if (path !== 'model.safetensors') return;
    if (server.faults.length === 0) server.faults.push({ type: 'hang', after: 60_000 });
    if (done > total() - model.get('model.safetensors')!.length) abort.abort(new Error('stopped'));
  };
  await expect(fetchModel(hub, hubId, { ...options, onProgress })).rejects.toThrow('stopped');
  expect(cachedModel(hub.cache, hubId)).toBeUndefined();
  const blobs = await readdir(join(hub.cache, 'models--someone--small', 'blobs'));
  expect(blobs.filter((name) => name.endsWith('.incomplete'))).toHaveLength(1);

  server.faults.length = 0;
  const before = weightRanges().length;
  await fetchModel(hub, hubId, { ...options, signal: new AbortController().signal });
  expect(weightRanges().slice(before)).toEqual([expect.stringMatching(/^bytes=[1-9]\d*-/)]);
  expect(
    server.served.filter(({ path, range }) => path.endsWith('/config.json') && range === undefined),
  ).toHaveLength(1);
});

test('bytes of another digest are fetched once more, then refused, and never named', async () => {
  const folder = await fetchTextsThen([{ type: 'garble' }]);
  expect((await readFile(join(folder, 'model.safetensors'))).equals(model.get('model.safetensors')!)).toBe(
    true,
  );

  await rm(hub.cache, { recursive: true });
  const refused = fetchTextsThen([{ type: 'garble' }, { type: 'garble' }]);
  await expect(refused).rejects.toThrow(HubRefused);
  await expect(refused).rejects.toThrow('model.safetensors: the download does not match the digest');
  expect(cachedModel(hub.cache, hubId)).toBeUndefined();
});

test('a model or revision that is not there is refused by name', async () => {
  const absent = fetchModel(hub, { id: 'someone/absent', revision: 'main' }, options);
  await expect(absent).rejects.toThrow(HubRefused);
  await expect(absent).rejects.toThrow(
    `no model someone/absent with a revision main: see ${hub.url}/someone/absent`,
  );
  await expect(fetchModel(hub, { ...hubId, revision: 'v9' }, options)).rejects.toThrow('revision v9');
});

test('a gated model asks for a token, and comes with one that is never shown', async () => {
  const gated = { id: 'someone/gated', revision: 'main' };
  const refused = fetchModel(hub, gated, options);
  await expect(refused).rejects.toThrow(HubRefused);
  await expect(refused).rejects.toThrow(/conditions .*settings\/tokens.*CLAWLOOP_HUB_TOKEN/);
  const other = fetchModel({ ...hub, token: 'hf_other' }, gated, options);
  await expect(other).rejects.toThrow('the token in use has no access to someone/gated');
  await other.catch((error: Error) => expect(`${error.message}${error.stack}`).not.toContain('hf_other'));
  await openCheckpoint(await fetchModel({ ...hub, token }, gated, options));
});

test('a model that is not supported is refused before its weights come', async () => {
  const refused = fetchModel(hub, { id: 'someone/moe', revision: 'main' }, options);
  await expect(refused).rejects.toThrow(UnsupportedModel);
  await expect(refused).rejects.toThrow('model_type "mixtral"');
  expect(weightRanges()).toEqual([]);
  const pickled = fetchModel(hub, { id: 'someone/pickled', revision: 'main' }, options);
  await expect(pickled).rejects.toThrow(
    'the hub has no model.safetensors (or model.safetensors.index.json and',
  );
});

test('a hub that does not answer is another thing than one that refuses', async () => {
  await server.close();
  const failed = fetchModel(hub, hubId, options);
  await expect(failed).rejects.toThrow(HubUnreachable);
  await expect(failed).rejects.toThrow(
    /someone\/small cannot be fetched from http.*ECONNREFUSED.*give --model a folder/,
  );
});

test('of two processes that want the same model one fetches it', async () => {
  let waits = 0;
  const both = { ...options, onWaiting: () => waits++ };
  const folders = await Promise.all([fetchModel(hub, hubId, both), fetchModel(hub, hubId, both)]);
  expect(folders[0]).toBe(folders[1]);
  expect(waits).toBe(1);
  expect(weightRanges()).toHaveLength(1);
});

test('names of this machine stay here', async () => {
  expect(await findModel({ model: 'claw-nano' }, options)).toBe(modelFolder('claw-nano'));
  expect(await findModel({ model: join(root, 'source') }, options)).toBe(join(root, 'source'));
  await expect(findModel({ model: './someone/small' }, options)).rejects.toThrow('no model at');
  expect(server.served).toEqual([]);
});
