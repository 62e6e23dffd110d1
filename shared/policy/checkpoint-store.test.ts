import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, readdir, readFile, rename, rm, utimes, writeFile } from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { AdapterFile } from './adapter-files.ts';
import {
  CheckpointDamaged,
  type CheckpointSummary,
  checkpointName,
  commitCheckpoint,
  hasCheckpoint,
  listCheckpoints,
  readCheckpoint,
  setAside,
} from './checkpoint-store.ts';
import { beginAttempt, clearAttempts, readStrikes } from './checkpoint-store-attempts.ts';
import { prunable, pruneCheckpoints, spreadOut } from './checkpoint-store-prune.ts';
import { type CheckpointContent, checkpointDigest } from './checkpoint-store-state.ts';
import { modelDigest } from './model-digest.ts';
import { modelFolder } from './model-folder.ts';
import { defaultTrainingSettings } from './training-defaults.ts';

let store: string;
beforeEach(async () => {
  store = await mkdtemp(join(tmpdir(), 'clawloop-store-'));
});
afterEach(() => rm(store, { recursive: true }));

const clawNano = modelFolder('claw-nano');
const batchId = (version: number) => `default/batch/${version}`;
const digestOfBatch = (version: number) => createHash('sha256').update(batchId(version)).digest('hex');
const nameOf = (version: number) => checkpointName(version, digestOfBatch(version));

function content(version: number, { parent = version - 1, fill = version / 7 } = {}) {
  const tensor = (shape: readonly number[]) => ({
    shape,
    values: new Float32Array(shape.reduce((a, b) => a * b)).fill(fill),
  });
  const names = ['A', 'B'].map((side) => `base_model.model.model.layers.0.mlp.up_proj.lora_${side}.weight`);
  const adapter: AdapterFile = {
    kind: 'lora',
    config: { rank: 2, alpha: 4, targets: ['up_proj'] },
    tensors: new Map([
      [names[0]!, tensor([2, 3])],
      [names[1]!, tensor([5, 2])],
    ]),
  };
  const moments = (by: number) =>
    new Map(names.map((name) => [name, adapter.tensors.get(name)!.values.map((x) => x * by)]));
  const optimizer = { step: version, first: moments(0.1), second: moments(0.01) };
  const baseline = { value: 1 / 3, count: 4 * version };
  return {
    adapter,
    optimizer,
    state: {
      format: 1,
      version,
      parent,
      batchId: batchId(version),
      adapter: 'default',
      logId: 'log',
      model: 'claw-nano',
      baseDigest: 'base',
      settings: defaultTrainingSettings('claw-nano').settings,
      seed: 7,
      samples: 4,
      baseline,
      optimizerStep: version,
      gate: { passed: true },
      metrics: { loss: -0.1 },
      fingerprint: 'here',
      milliseconds: 12,
      digest: checkpointDigest({ adapter, optimizer, baseline }),
    },
  } satisfies CheckpointContent;
}
const commit = (version: number, changes = {}) =>
  commitCheckpoint(store, nameOf(version), content(version, changes), clawNano);

test('what was committed is read back, bit by bit', async () => {
  const { won, checkpoint } = await commit(1);
  expect(won).toBe(true);
  const read = await readCheckpoint(checkpoint.folder);
  expect(read.state).toEqual(checkpoint.state);
  expect(read.optimizer).toEqual(checkpoint.optimizer);
  expect(new Map(read.adapter.tensors)).toEqual(checkpoint.adapter.tensors);
  expect(read.name).toBe(nameOf(1));
  expect(await hasCheckpoint(store, nameOf(2))).toBe(false);
});

test('of two writers one wins; the other gets the winner and leaves nothing behind', async () => {
  const both = await Promise.all([commit(1, { fill: 1 }), commit(1, { fill: 2 })]);
  expect(both.map(({ won }) => won).sort()).toEqual([false, true]);
  const [winner, loser] = both.toSorted((a, b) => Number(b.won) - Number(a.won));
  expect(loser!.checkpoint.state.digest).toBe(winner!.checkpoint.state.digest);
  expect(await readdir(store)).toEqual([nameOf(1)]);
});

test('changed bytes are noticed', async () => {
  const { checkpoint } = await commit(1);
  const path = join(checkpoint.folder, 'adapter_model.safetensors');
  const bytes = await readFile(path);
  bytes[bytes.length - 1]! ^= 1;
  await writeFile(path, bytes);
  await expect(readCheckpoint(checkpoint.folder)).rejects.toThrow(CheckpointDamaged);
});

test('the digest is of every number that the next step starts from', () => {
  const { adapter, optimizer, state } = content(1);
  const digest = (changes: object) =>
    checkpointDigest({ adapter, optimizer, baseline: state.baseline, ...changes });
  const [name, values] = [...optimizer.second][1]!;
  const digests = [
    state.digest,
    digest({ baseline: { value: 0.34, count: 4 } }),
    digest({ baseline: { ...state.baseline, tool: { value: 0.5, count: 1 } } }),
    digest({ baseline: { ...state.baseline, reward: { value: 0.5, count: 1 } } }),
    digest({ baseline: { ...state.baseline, reward: { value: 0.5, count: 2 } } }),
    digest({ optimizer: { ...optimizer, step: 2 } }),
    digest({
      optimizer: {
        ...optimizer,
        second: new Map([...optimizer.second, [name, values.with(3, 9)]]),
      },
    }),
    digest({ adapter: { ...adapter, config: { ...adapter.config, alpha: 5 } } }),
  ];
  expect(new Set(digests).size).toBe(digests.length);
  expect(digest({})).toBe(state.digest);
});

test('what a crashed writer left is no checkpoint, and goes after an hour', async () => {
  await commit(1);
  const left = join(store, `.tmp-${nameOf(2)}-x`);
  await mkdir(left);
  await writeFile(join(left, 'state.json'), '{"half":');
  expect((await listCheckpoints(store)).map(({ name }) => name)).toEqual([nameOf(1)]);
  const retention = { keep: 5, lineage: [1, 0], openParent: undefined };
  expect(await pruneCheckpoints(store, retention)).toEqual([]);
  const hourAgo = new Date(Date.now() - 3_700_000);
  await utimes(left, hourAgo, hourAgo);
  expect(await pruneCheckpoints(store, retention)).toEqual([`.tmp-${nameOf(2)}-x`]);
  expect((await commit(2)).won).toBe(true);
});

test('an absent store is an empty one', async () => {
  const nowhere = join(store, 'none');
  expect(await listCheckpoints(nowhere)).toEqual([]);
  expect(await readStrikes(nowhere, nameOf(1))).toEqual({ count: 0, errors: [] });
});

/** version -> parent */
const stored = (parents: Record<number, number>): CheckpointSummary[] =>
  Object.entries(parents).map(([version, parent]) => ({
    name: `v${version}`,
    state: content(Number(version), { parent }).state,
  }));
const backFrom = (head: number) => Array.from({ length: head + 1 }, (_, back) => head - back);

test('pruning keeps the head, its ancestors, the newest, and the parent of the open batch', () => {
  const chain = stored({ 1: 0, 2: 1, 3: 2, 4: 3, 5: 4, 6: 5, 7: 6, 8: 7 });
  const gone = (head: number, openParent?: number) =>
    prunable(chain, { keep: 2, lineage: backFrom(head), openParent });
  expect(gone(8)).toEqual(['v1', 'v2', 'v3', 'v4', 'v5', 'v6']);
  expect(gone(8, 3)).toEqual(['v1', 'v2', 'v4', 'v5', 'v6']);
  // after a rollback to 4 the way forward to 8 is there
  expect(gone(4)).toEqual(['v1', 'v2', 'v5', 'v6', 'v7']);
});

test('rejected versions between do not push ancestors of the head out', () => {
  // 4, 5 and 6 were rejected: the head is 3, and 2 is what a rollback goes to
  const checkpoints = stored({ 1: 0, 2: 1, 3: 2, 4: 3, 5: 3, 6: 3 });
  expect(prunable(checkpoints, { keep: 2, lineage: backFrom(3), openParent: undefined })).toEqual([
    ...['v1', 'v4', 'v5'],
  ]);
});

test('the way back reaches further the longer the lineage is, and nothing that it will want is removed', () => {
  let kept: readonly CheckpointSummary[] = [];
  for (let head = 1; head <= 1000; head++) {
    const all = [...kept, ...stored({ [head]: head - 1 })];
    const gone = new Set(prunable(all, { keep: 20, lineage: backFrom(head), openParent: undefined }));
    kept = all.filter(({ name }) => !gone.has(name));
    const back = kept.map(({ state }) => head - state.version);
    for (let nearest = 1; 2 * nearest <= head; nearest *= 2)
      expect(back.some((steps) => steps >= nearest && steps < 2 * nearest)).toBe(true);
    expect(kept.length).toBeLessThanOrEqual(20);
  }
  expect(kept.map(({ state }) => state.version)).toEqual([
    ...[512, 768, 896, 960, 976, 991, 992, 993, 994, 995, 996, 997, 998, 999, 1000],
  ]);
});

test('versions of a lineage are counted, not subtracted', () => {
  // 2 and 4 were rejected
  expect(spreadOut([6, 5, 3, 1, 0])).toEqual([6, 5, 3, 0]);
});

test('attempts that died are strikes, ended ones and those that live are not', async () => {
  const name = nameOf(1);
  const ended = await beginAttempt(store, name);
  await ended.beat();
  await ended.end();
  expect((await readStrikes(store, name)).count).toBe(0);

  const failed = await beginAttempt(store, name);
  await failed.fail('out of memory');
  expect(await readStrikes(store, name)).toEqual({ count: 1, errors: ['out of memory'] });

  const mark = (file: string, marker: object) =>
    writeFile(join(store, `${name}.attempts`, file), JSON.stringify(marker));
  const killed = spawnSync(process.execPath, ['-e', '']).pid;
  await mark('killed', { host: hostname(), pid: killed });
  await mark('alive', { host: hostname(), pid: process.ppid });
  await mark('elsewhere', { host: 'another-machine', pid: 1 });
  expect((await readStrikes(store, name)).count).toBe(2);

  const silent = new Date(Date.now() - 61_000);
  await utimes(join(store, `${name}.attempts`, 'elsewhere'), silent, silent);
  expect((await readStrikes(store, name)).count).toBe(3);

  await commit(1); // the markers are not in the way of the rename
  expect(await pruneCheckpoints(store, { keep: 5, lineage: [1, 0], openParent: undefined })).toEqual([
    `${name}.attempts`,
  ]);
  await clearAttempts(store, name);
  expect((await readStrikes(store, name)).count).toBe(0);
});

test("a model's digest changes with its weights and with its tokens, not with its card", async () => {
  await writeFile(join(store, 'config.json'), '{}');
  await writeFile(join(store, 'model.safetensors'), 'weights');
  const before = await modelDigest(store);
  await writeFile(join(store, 'README.md'), 'a card');
  expect(await modelDigest(store)).toBe(before);
  await writeFile(join(store, 'model.safetensors'), 'weightt');
  expect(await modelDigest(store)).not.toBe(before);
});

test('a checkpoint of the same number under another name is set aside and deleted by nobody', async () => {
  await commit(1);
  await commit(2);
  const other = checkpointName(2, 'f'.repeat(64));
  await commitCheckpoint(store, other, content(2, { fill: 9 }), clawNano);
  const [aside, ...more] = await setAside(store, nameOf(2), { foreign: false });
  expect(more).toEqual([]);
  expect((await listCheckpoints(store)).map(({ name }) => name)).toEqual([nameOf(1), nameOf(2)]);
  await pruneCheckpoints(store, { keep: 2, lineage: [2, 1, 0], openParent: undefined });
  expect(await readdir(store)).toContain(aside);
  await rename(join(store, aside!), join(store, other));
  expect((await readCheckpoint(join(store, other))).state.version).toBe(2);

  expect(await setAside(store, nameOf(2), { foreign: true })).toHaveLength(2);
  expect((await listCheckpoints(store)).map(({ name }) => name)).toEqual([nameOf(1)]);
});
