import { mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openTraining, twoSamples } from './testing/open-training.ts';

let store: string;
beforeEach(async () => {
  store = await mkdtemp(join(tmpdir(), 'clawloop-restored-'));
});
afterEach(() => rm(store, { recursive: true }));

const committed = async () => (await readdir(store)).filter((name) => /^\d/.test(name)).sort();

test('after the log was restored, an old checkpoint is not taken for a new batch', async () => {
  const { train, restore, events, steps } = openTraining(store);
  await train(1, twoSamples('a', 'b'));
  const [first] = await committed();
  await train(2, twoSamples('lost', 'with the log'));
  const old = (await committed()).find((name) => name.startsWith('2-'))!;
  restore(2);
  const outcome = await train(2, twoSamples('said', 'since then'));
  expect(steps()).toBe(3);
  expect(outcome).toMatchObject({ kind: 'trained', state: { version: 2, parent: 1 } });
  const [kept, made] = await committed();
  expect([kept, made]).toEqual([first, expect.stringMatching(/^2-/)]);
  expect(made).not.toBe(old);
  expect(events().at(-1)).toMatchObject({ type: 'policy.promoted', data: { checkpoint: made } });
  // The checkpoints that the newer log needs are still there.
  expect(await readdir(store)).toContainEqual(expect.stringContaining(`.aside-${old}`));
});

test('a sample with another judgment in the same place makes another batch', async () => {
  const { train, restore, steps } = openTraining(store);
  const [a, b] = twoSamples('a', 'b');
  await train(1, [a!, b!]);
  restore(0);
  await train(1, [a!, b!]);
  expect(steps()).toBe(1);
  restore(0);
  await train(1, [a!, { ...b!, verdict: 1 }]);
  expect(steps()).toBe(2);
  expect(await committed()).toHaveLength(1);
});

test('a checkpoint of an earlier version may be a parent, but not an outcome', async () => {
  const { train, restore, events, steps } = openTraining(store);
  await train(1, twoSamples('a', 'b'));
  // The earlier format: named after the batch id, and without its digest.
  const [name] = await committed();
  const earlier = '1-5a6e3b0c9d12';
  const path = join(store, earlier, 'state.json');
  await rename(join(store, name!), join(store, earlier));
  const { batchDigest, samplesDigest, ...state } = JSON.parse(await readFile(path, 'utf8'));
  expect([batchDigest, samplesDigest]).toEqual([expect.any(String), expect.any(String)]);
  await writeFile(path, JSON.stringify(state));

  const promoted = { checkpoint: earlier, digest: state.digest };
  await train(2, twoSamples('c', 'd'), { parent: promoted });
  expect(events().at(-1)).toMatchObject({ type: 'policy.promoted', data: { from: 1, to: 2 } });

  restore(0);
  const before = steps();
  await train(1, twoSamples('a', 'b'));
  expect(steps()).toBe(before + 1);
  expect(await committed()).toContain(name);
  expect(await committed()).not.toContain(earlier);
});
