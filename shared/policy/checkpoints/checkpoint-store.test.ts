import { spawnSync } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, rename, rm, utimes, writeFile } from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { modelDigest } from '../model/model-digest.ts';
import { modelFolder } from '../model/model-folder.ts';
import {
  CheckpointDamaged,
  type CheckpointStore,
  checkpointName,
  openCheckpointStore,
  type Pruned,
} from './checkpoint-store.ts';
import { prunable, spreadOut } from './prune.ts';
import { type CheckpointContent, type CheckpointSummary, checkpointDigest } from './state.ts';
import { content, nameOf } from './testing/checkpoint-content.ts';

let folder: string;
let store: CheckpointStore;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'clawloop-store-'));
  store = openCheckpointStore(folder);
});
afterEach(() => rm(folder, { recursive: true }));

const clawNano = modelFolder('claw-nano');
const commit = (version: number, changes = {}) =>
  store.commit(nameOf(version), content(version, changes), clawNano);

test('a committed checkpoint is read back bit by bit', async () => {
  const { won, checkpoint } = await commit(1);
  expect(won).toBe(true);
  const read = await store.read(checkpoint.name);
  expect(read.state).toEqual(checkpoint.state);
  expect(read.optimizer).toEqual(checkpoint.optimizer);
  expect(new Map(read.adapter.tensors)).toEqual(checkpoint.adapter.tensors);
  expect(read.name).toBe(nameOf(1));
  expect(await store.has(nameOf(2))).toBe(false);
});

test('one of two writers wins; the other gets its checkpoint and leaves nothing behind', async () => {
  const both = await Promise.all([commit(1, { fill: 1 }), commit(1, { fill: 2 })]);
  expect(both.map(({ won }) => won).sort()).toEqual([false, true]);
  const [winner, loser] = both.toSorted((a, b) => Number(b.won) - Number(a.won));
  expect(loser!.checkpoint.state.digest).toBe(winner!.checkpoint.state.digest);
  expect(await readdir(folder)).toEqual([nameOf(1)]);
});

test('changed bytes are detected', async () => {
  const { checkpoint } = await commit(1);
  const path = join(checkpoint.folder, 'adapter_model.safetensors');
  const bytes = await readFile(path);
  bytes[bytes.length - 1]! ^= 1;
  await writeFile(path, bytes);
  await expect(store.read(checkpoint.name)).rejects.toThrow(CheckpointDamaged);
});

test('the digest covers every number that the next step starts from', () => {
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

test('leftovers of a crashed writer are not a checkpoint and are removed after an hour', async () => {
  await commit(1);
  const left = join(folder, `.tmp-${nameOf(2)}-x`);
  await mkdir(left);
  await writeFile(join(left, 'state.json'), '{"half":');
  expect((await store.list()).map(({ name }) => name)).toEqual([nameOf(1)]);
  const retention = { keep: 5, lineage: [1, 0], openParent: undefined, settled: 1 };
  expect(await store.prune(retention)).toEqual([]);
  const hourAgo = new Date(Date.now() - 3_700_000);
  await utimes(left, hourAgo, hourAgo);
  expect(await store.prune(retention)).toEqual([`.tmp-${nameOf(2)}-x`]);
  expect((await commit(2)).won).toBe(true);
});

test('an absent store is empty', async () => {
  const nowhere = openCheckpointStore(join(folder, 'none'));
  expect(await nowhere.list()).toEqual([]);
  expect(await nowhere.attempts(nameOf(1)).strikes()).toEqual({ count: 0, errors: [] });
});

/** version -> parent */
const stored = (parents: Record<number, number>): CheckpointSummary[] =>
  Object.entries(parents).map(([version, parent]) => ({
    name: `v${version}`,
    state: content(Number(version), { parent }).state,
  }));
const backFrom = (head: number) => Array.from({ length: head + 1 }, (_, back) => head - back);

test('pruning keeps the head, its ancestors, the newest, and the parent of the open batch', () => {
  const chain = stored(Object.fromEntries(backFrom(15).map((back) => [back + 1, back])));
  const gone = (head: number, openParent?: number) =>
    prunable(chain, { keep: 2, lineage: backFrom(head), openParent });
  // v8 to v16: verdicts may still undo v9 to v16, and v17 may come before their decision
  expect(gone(16)).toEqual(['v1', 'v2', 'v3', 'v4', 'v5', 'v6']);
  expect(gone(16, 3)).toEqual(['v1', 'v2', 'v4', 'v5', 'v6']);
  // after a rollback to 10 the way forward to 16 is there
  expect(gone(10)).toEqual(['v11', 'v12', 'v13', 'v14', 'v15']);
});

test('rejected versions do not displace ancestors of the head', () => {
  // 4, 5 and 6 were rejected: the head is 3, and a rollback goes to 2
  const checkpoints = stored({ 1: 0, 2: 1, 3: 2, 4: 3, 5: 3, 6: 3 });
  expect(prunable(checkpoints, { keep: 2, lineage: backFrom(3), openParent: undefined })).toEqual([
    'v4',
    'v5',
  ]);
});

test('a longer lineage reaches further back, and no version needed later is removed', () => {
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
    512, 768, 896, 960, 976, 991, 992, 993, 994, 995, 996, 997, 998, 999, 1000,
  ]);
});

test('distances in a lineage are counted, not subtracted', () => {
  // 2 and 4 were rejected
  expect(spreadOut([6, 5, 3, 1, 0])).toEqual([6, 5, 3, 0]);
});

test('dead attempts are strikes; ended and running attempts are not', async () => {
  const name = nameOf(1);
  const ended = await store.attempts(name).begin();
  await ended.beat();
  await ended.end();
  expect((await store.attempts(name).strikes()).count).toBe(0);

  const failed = await store.attempts(name).begin();
  await failed.fail('out of memory');
  expect(await store.attempts(name).strikes()).toEqual({ count: 1, errors: ['out of memory'] });

  const mark = (file: string, marker: object) =>
    writeFile(join(folder, `${name}.attempts`, file), JSON.stringify(marker));
  const killed = spawnSync(process.execPath, ['-e', '']).pid;
  await mark('killed', { host: hostname(), pid: killed });
  await mark('alive', { host: hostname(), pid: process.ppid });
  await mark('elsewhere', { host: 'another-machine', pid: 1 });
  expect((await store.attempts(name).strikes()).count).toBe(2);

  const silent = new Date(Date.now() - 61_000);
  await utimes(join(folder, `${name}.attempts`, 'elsewhere'), silent, silent);
  expect((await store.attempts(name).strikes()).count).toBe(3);

  await commit(1); // the markers are not in the way of the rename
  expect(await store.prune({ keep: 5, lineage: [1, 0], openParent: undefined, settled: 1 })).toEqual([
    `${name}.attempts`,
  ]);
  await store.attempts(name).clear();
  expect((await store.attempts(name).strikes()).count).toBe(0);
});

test("a model's digest depends on its weights and tokens, not on its card", async () => {
  await writeFile(join(folder, 'config.json'), '{}');
  await writeFile(join(folder, 'model.safetensors'), 'weights');
  const before = await modelDigest(folder);
  await writeFile(join(folder, 'README.md'), 'a card');
  expect(await modelDigest(folder)).toBe(before);
  await writeFile(join(folder, 'model.safetensors'), 'weightt');
  expect(await modelDigest(folder)).not.toBe(before);
});

test('a checkpoint of the same version under another name is set aside, not deleted', async () => {
  await commit(1);
  await commit(2);
  const other = checkpointName(2, 'f'.repeat(64));
  await store.commit(other, content(2, { fill: 9 }), clawNano);
  const [aside, ...more] = await store.setAside(nameOf(2), { foreign: false });
  expect(more).toEqual([]);
  expect((await store.list()).map(({ name }) => name)).toEqual([nameOf(1), nameOf(2)]);
  await store.prune({ keep: 2, lineage: [2, 1, 0], openParent: undefined, settled: 2 });
  expect(await readdir(folder)).toContain(aside);
  await rename(join(folder, aside!), join(folder, other));
  expect((await store.read(other)).state.version).toBe(2);

  expect(await store.setAside(nameOf(2), { foreign: true })).toHaveLength(2);
  expect((await store.list()).map(({ name }) => name)).toEqual([nameOf(1)]);
});

test('notes of the attempts stay until the batch is settled, and are no strikes', async () => {
  const attempts = openCheckpointStore(folder).attempts('1-abcdef012345');
  expect(await attempts.notes()).toEqual([]);
  for (const line of ['tinker://a/weights/x', 'tinker://b/weights/x', 'tinker://a/weights/x'])
    await attempts.note(line);
  expect(await attempts.notes()).toEqual(['tinker://a/weights/x', 'tinker://b/weights/x']);
  expect(await attempts.strikes()).toEqual({ count: 0, errors: [] });
  await attempts.clear();
  expect(await attempts.notes()).toEqual([]);
});

test('what checkpoints and settled attempts have elsewhere is removed before them; if that fails, they stay', async () => {
  for (const version of [1, 2, 3]) await commit(version);
  const remote = {
    kind: 'remote' as const,
    dialect: 'skyrl-jax',
    url: 'http://server',
    path: 'tinker://kept/weights/x',
    probe: { promptIds: [1], responseIds: [2], logProbs: [-1] },
  };
  const { state, ...rest } = content(4);
  await store.commit(nameOf(4), { ...rest, state: { ...state, optimizer: remote } }, clawNano);
  await store.attempts(nameOf(4)).note('tinker://kept/weights/x');
  await store.attempts(nameOf(4)).note('tinker://killed/weights/x');
  const [failed, unreadable, open] = [5, 6, 7].map(nameOf) as [string, string, string];
  for (const name of [failed, unreadable, open])
    await store.attempts(name).note(`tinker://of-${name}/weights/x`);
  await mkdir(join(folder, unreadable));
  const retention = { keep: 2, lineage: [4, 3, 0], openParent: undefined, settled: 6 }; // 1 and 2 were rolled back
  const names = async () => (await readdir(folder)).toSorted();

  const before = await names();
  const unreachable = async () => Promise.reject(new Error('the server is away'));
  await expect(store.prune(retention, unreachable)).rejects.toThrow('away');
  expect(await names()).toEqual(before);

  const pruned: Pruned[] = [];
  const seen: (readonly string[])[] = [];
  const gone = await store.prune(retention, async (about) => {
    pruned.push(about);
    seen.push(await names());
  });
  expect(pruned[0]!.released.map(({ name }) => name)).toEqual([nameOf(1), nameOf(2)]);
  const notes = ['tinker://killed/weights/x', `tinker://of-${failed}/weights/x`];
  expect(pruned[0]!.notes.toSorted()).toEqual(notes.toSorted());
  expect(seen).toEqual([before]);
  const over = [nameOf(4), failed].map((name) => `${name}.attempts`);
  expect(gone.toSorted()).toEqual([nameOf(1), nameOf(2), ...over].toSorted());
  expect(await names()).toEqual(before.filter((name) => !gone.includes(name)));
});

test('what was set aside is removed by age, after the states that only it has on a training server', async () => {
  const remoteOf = (path: string) =>
    ({
      kind: 'remote',
      step: 3,
      dialect: 'skyrl-jax',
      url: 'http://server',
      path,
      probe: { promptIds: [1], responseIds: [2], logProbs: [-1] },
    }) satisfies CheckpointContent['optimizer'];
  const commitWith = async (version: number, path: string) => {
    const { state, ...rest } = content(version);
    await store.commit(
      nameOf(version),
      { ...rest, state: { ...state, optimizer: remoteOf(path) } },
      clawNano,
    );
  };
  for (const [version, path] of [
    [1, 'tinker://only-aside/weights/x'],
    [2, 'tinker://shared/weights/x'],
  ] as const) {
    await commitWith(version, path);
    await store.setAside(nameOf(version), { foreign: true });
  }
  await commitWith(3, 'tinker://shared/weights/x');
  const day = 86_400_000;
  const limit = { maxAgeMs: 30 * day, maxBytes: 2 ** 30 };
  const later = (days: number) => Date.now() + days * day;
  expect(await store.removeAside(limit, undefined, later(29))).toEqual([]);
  const before = await readdir(folder);
  const away = () => Promise.reject(new Error('the server is away'));
  await expect(store.removeAside(limit, away, later(31))).rejects.toThrow('away');
  expect(await readdir(folder)).toEqual(before);
  const paths: string[] = [];
  const gone = await store.removeAside(limit, async (of) => void paths.push(...of), later(31));
  expect(paths).toEqual(['tinker://only-aside/weights/x']);
  expect(gone.map(({ reason }) => reason)).toEqual(['age', 'age']);
  expect((await readdir(folder)).filter((name) => name.startsWith('.aside-'))).toEqual([]);
  expect((await store.list()).map(({ name }) => name)).toEqual([nameOf(3)]);
});
