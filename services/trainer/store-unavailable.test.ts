import { mkdir, mkdtemp, readdir, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openCheckpointStore } from '../../shared/policy/checkpoints/checkpoint-store.ts';
import { openTraining, twoSamples } from './testing/open-training.ts';

let root: string;
let store: string;
let elsewhere: string;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'clawloop-away-'));
  store = join(root, 'default');
  elsewhere = join(root, 'elsewhere');
});
afterEach(() => rm(root, { recursive: true }));

const away = () => rename(store, elsewhere);
const back = async () => {
  await rm(store, { recursive: true, force: true });
  await rename(elsewhere, store);
};
const typesOf = ({ events }: ReturnType<typeof openTraining>) => events().map(({ type }) => type);
const [first, second] = [twoSamples('a', 'b'), twoSamples('c', 'd')];

test("a batch waits for its parent's checkpoint, however often it is tried, without a strike", async () => {
  const trainer = openTraining(store);
  await trainer.train(1, first);
  const name = (await readdir(store)).find((one) => one.startsWith('1-'))!;
  await rename(join(store, name), elsewhere);
  for (let again = 0; again < 5; again++)
    await expect(trainer.train(2, second, { holdsVersions: true })).rejects.toThrow(
      /no checkpoint of v1.*restore it, or abandon v1 with `clawloop policy rollback/,
    );
  expect(typesOf(trainer)).toEqual(['policy.trained', 'policy.promoted']);
  await rename(elsewhere, join(store, name));
  await trainer.train(2, second, { holdsVersions: true });
  expect(typesOf(trainer).slice(2)).toEqual(['policy.trained', 'policy.promoted']);
});

test("an operator's rollback abandons the parent and its batch", async () => {
  const trainer = openTraining(store);
  await trainer.train(1, first);
  const name = (await readdir(store)).find((one) => one.startsWith('1-'))!;
  await rm(join(store, name), { recursive: true });
  await trainer.train(2, second, { holdsVersions: true, isParentHead: () => false });
  expect(trainer.events().at(-1)).toMatchObject({
    type: 'policy.update-failed',
    data: { reason: 'parent-missing' },
  });
});

test.each([
  ['is missing', async () => {}],
  ['is an empty folder where a mount should be', () => mkdir(store)],
])('a batch on the base also waits while the whole store %s', async (_, mount) => {
  const trainer = openTraining(store);
  await trainer.train(1, first);
  await away();
  await mount();
  const before = await readdir(root);
  await expect(
    trainer.train(2, second, { parent: undefined, holdsVersions: true, isParentHead: () => true }),
  ).rejects.toThrow('is empty or missing');
  // Nothing is written in the place of the mount.
  expect(await readdir(root)).toEqual(before);
  if (before.includes('default')) expect(await readdir(store)).toEqual([]);
  await back();
  await trainer.train(2, second, { holdsVersions: true });
  expect(typesOf(trainer).slice(2)).toEqual(['policy.trained', 'policy.promoted']);
});

test('a store that becomes unavailable during the step costs no strike', async () => {
  const trainer = openTraining(store);
  await trainer.train(1, first);
  const { run } = trainer.runner;
  for (let again = 0; again < 4; again++) {
    const leaving: typeof run = async (...input) => {
      const step = await run(...input);
      await away();
      return step;
    };
    await expect(trainer.train(2, second, { holdsVersions: true, runner: { run: leaving } })).rejects.toThrow(
      'became unavailable during the step',
    );
    await back();
  }
  const attempts = (await readdir(store)).find((name) => name.endsWith('.attempts'))!;
  expect((await openCheckpointStore(store).attempts(attempts.replace('.attempts', '')).strikes()).count).toBe(
    0,
  );
  await trainer.train(2, second, { holdsVersions: true });
  expect(typesOf(trainer).slice(2)).toEqual(['policy.trained', 'policy.promoted']);
});

test('a store of an earlier version, without a marker, is accepted', async () => {
  const trainer = openTraining(store);
  await trainer.train(1, first);
  await rm(join(store, '.store'));
  await trainer.train(2, second, { holdsVersions: true });
  expect(await readdir(store)).toContain('.store');
});
