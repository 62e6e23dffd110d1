import { mkdtemp, readdir, readFile, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { bucketAccess } from '../../services/cli/doctor/bucket-check.ts';
import { openBucket } from '../../shared/bucket/open-bucket.ts';
import type { CliConfig } from '../../shared/config/cli.ts';
import type { Bucket } from '../../shared/policy/checkpoints/bucket.ts';
import { keysOf, manifestContent, readManifest } from '../../shared/policy/checkpoints/bucket-manifest.ts';
import { type BucketStore, openBucketStore } from '../../shared/policy/checkpoints/bucket-store.ts';
import { fetchedName } from '../../shared/policy/checkpoints/bucket-transfer.ts';
import { CheckpointDamaged, openCheckpointStore } from '../../shared/policy/checkpoints/checkpoint-store.ts';
import { isStoreUnavailable } from '../../shared/policy/checkpoints/store-unavailable.ts';
import { content, nameOf } from '../../shared/policy/checkpoints/testing/checkpoint-content.ts';
import { checkpointStoreContract, commitTo } from './checkpoint-store.ts';
import { describeWithS3, newBucket, type TestBucket } from './with-s3.ts';

const weights = 'adapter_model.safetensors';

async function changeByte(path: string): Promise<void> {
  const bytes = await readFile(path);
  bytes[bytes.length - 1]! ^= 1;
  await writeFile(path, bytes);
}

let root: string;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'clawloop-stores-'));
});
afterEach(() => rm(root, { recursive: true, force: true }));

describe('in a folder', () => {
  checkpointStoreContract(() => {
    const folder = join(root, 'shared');
    return {
      one: openCheckpointStore(folder),
      other: openCheckpointStore(folder),
      damage: (name) => changeByte(join(folder, name, weights)),
    };
  });
});

describeWithS3('in a bucket', (server) => {
  let on: TestBucket;
  let bucket: Bucket;
  beforeEach(async () => {
    await server().start();
    on = await newBucket(server());
    bucket = openBucket(on.place);
  });
  afterEach(() => bucket.close());

  const host = (name: string, pieceBytes?: number): BucketStore =>
    openBucketStore({
      bucket,
      adapter: 'default',
      local: openCheckpointStore(join(root, name)),
      ...(pieceBytes && { pieceBytes }),
    });
  const objects = async () => (await bucket.list('')).map(({ key }) => key);
  const objectOf = async (file: string) => (await objects()).find((key) => key.includes(`/${file}.`))!;
  const damage = async () => changeByte(join(on.files, await objectOf(weights)));

  checkpointStoreContract(() => ({ one: host('one'), other: host('other'), damage }));

  test('large files are stored in pieces', async () => {
    await commitTo(host('one', 100), 1);
    const pieces = (await objects()).filter((key) => key.includes(`/${weights}.`));
    expect(pieces.length).toBeGreaterThan(3);
    expect((await host('other').read(nameOf(1))).state.digest).toBe(content(1).state.digest);
  });

  test('a checkpoint is fetched once; a damaged copy is replaced', async () => {
    await commitTo(host('one'), 1);
    const other = host('other');
    await other.fetch(nameOf(1));
    await changeByte(join(root, 'other', nameOf(1), weights));
    expect((await other.read(nameOf(1))).state.digest).toBe(content(1).state.digest);
    await server().kill();
    // the copy is enough
    expect((await other.read(nameOf(1))).state.digest).toBe(content(1).state.digest);
  }, 120_000);

  test('a damaged or missing object is refused, and nothing of it stays', async () => {
    await commitTo(host('one'), 1);
    await damage();
    await expect(host('other').fetch(nameOf(1))).rejects.toThrow(/has other bytes than were uploaded/);
    await bucket.remove(await objectOf(weights));
    await expect(host('other').fetch(nameOf(1))).rejects.toThrow(CheckpointDamaged);
    expect(await readdir(join(root, 'other'))).toEqual([]);
  });

  test('an upload that was cut off is finished; objects of another one are removed after a day', async () => {
    const local = openCheckpointStore(join(root, 'one'));
    await commitTo(local, 1);
    const left = `${keysOf('default').upload(`${nameOf(1)}-killed`)}${weights}.0`;
    await bucket.put(left, { bytes: 1, sha256: sha256OfZero, open: zero });
    const store = host('one');
    expect(await store.has(nameOf(1))).toBe(false);
    await store.complete(nameOf(1));
    expect(await store.has(nameOf(1))).toBe(true);
    expect((await host('other').read(nameOf(1))).state.digest).toBe(content(1).state.digest);
    const retention = { keep: 5, lineage: [1, 0], openParent: undefined, settled: 1 };
    expect(await store.prune(retention)).toEqual([]);
    const yesterday = new Date(Date.now() - 25 * 60 * 60_000);
    for (const key of await objects()) await utimes(join(on.files, key), yesterday, yesterday);
    const before = await objects();
    expect(await store.prune(retention)).toEqual([`${nameOf(1)}-killed`]);
    expect(await objects()).toEqual(before.filter((key) => key !== left));
  });

  test('the objects of what was set aside go with it, but not those that a committed manifest still names', async () => {
    const store = host('one');
    await commitTo(store, 1);
    await commitTo(store, 2);
    // a set-aside that was killed after its first half
    const manifest = await readManifest(bucket, keysOf('default').manifest(nameOf(1)));
    await bucket.put(keysOf('default').aside(`${nameOf(1)}-killed`), manifestContent(manifest!));
    const [aside] = await store.setAside(nameOf(2), { foreign: true });
    await commitTo(store, 3);
    const month = new Date(Date.now() - 31 * 24 * 60 * 60_000);
    for (const key of await objects()) await utimes(join(on.files, key), month, month);
    const limit = { maxAgeMs: 30 * 24 * 60 * 60_000, maxBytes: 2 ** 30 };
    const gone = (await store.removeAside(limit)).map(({ path, reason }) => [path, reason]);
    expect(gone.toSorted()).toEqual(
      [`${nameOf(1)}-killed`, aside!].map((name) => [keysOf('default').aside(name), 'age']).toSorted(),
    );
    await store.prune({ keep: 5, lineage: [3, 1, 0], openParent: undefined, settled: 3 });
    expect((await objects()).filter((key) => key.includes(`/objects/${nameOf(2)}`))).toEqual([]);
    for (const version of [1, 3])
      expect((await host('other').read(nameOf(version))).state.digest).toBe(content(version).state.digest);
  });

  test('while the store is away, every call says so; the secret is in no message', async () => {
    const store = host('one');
    await commitTo(store, 1);
    await server().kill();
    const failures = await Promise.all(
      [store.has(nameOf(1)), store.list(), commitTo(store, 2), host('other').fetch(nameOf(1))].map((call) =>
        call.then(
          () => undefined,
          (error: unknown) => error,
        ),
      ),
    );
    expect(failures.map(isStoreUnavailable)).toEqual([true, true, true, true]);
    expect(await store.problem(true)).toMatch(/cannot be used/);
    await server().start();
    // written on this host while the bucket was away
    await store.complete(nameOf(2));
    expect((await host('other').read(nameOf(2))).state.digest).toBe(content(2).state.digest);

    const wrong = openBucket({ ...on.place, secretAccessKey: 'another-secret' });
    const refused = await wrong.list('').catch((error: Error) => error);
    await wrong.close();
    expect(String(refused)).toMatch(/status 403/);
    expect(String(refused)).not.toContain('another-secret');
    const nowhere = openBucket({ ...on.place, url: `${on.server.url}/no-such-bucket` });
    await expect(nowhere.get('x')).rejects.toThrow(/bucket does not exist/);
    await nowhere.close();
  }, 120_000);

  test('the checkpoints of a folder move into a new bucket', async () => {
    const local = openCheckpointStore(join(root, 'one'));
    await local.problem(false);
    for (const version of [1, 2]) await commitTo(local, version);
    expect(await host('other').problem(true)).toMatch(/is empty/);
    expect(await host('one').problem(true)).toBeUndefined();
    expect(await host('other').names()).toEqual([nameOf(1), nameOf(2)]);
    expect(await host('other').problem(true)).toBeUndefined();
  });

  test('copies of removed checkpoints are removed; what this host made stays', async () => {
    const [one, other] = [host('one'), host('other')];
    for (const version of [1, 2]) await commitTo(one, version);
    for (const version of [1, 2]) await other.fetch(nameOf(version));
    await one.prune({ keep: 2, lineage: [2, 0], openParent: undefined, settled: 2 });
    await bucket.remove(keysOf('default').manifest(nameOf(1)));
    await commitTo(openCheckpointStore(join(root, 'other')), 3); // not uploaded yet
    expect(await other.tidy()).toEqual([nameOf(1)]);
    expect((await readdir(join(root, 'other'))).toSorted()).toEqual([nameOf(2), nameOf(3)]);
    expect(await readdir(join(root, 'other', nameOf(2)))).toContain(fetchedName);
  });

  test('an object whose bytes are not those that were announced is refused', async () => {
    await expect(bucket.put('wrong', { bytes: 1, sha256: '0'.repeat(64), open: zero })).rejects.toThrow(
      /status 400/,
    );
    expect(await bucket.has('wrong')).toBe(false);
  });

  test('doctor tries the bucket out, and says what is wrong with it', async () => {
    const settings = { dataFolder: root, log: 'sqlite', ...on.config } as CliConfig;
    expect(await bucketAccess(settings)).toMatchObject([{ state: 'ok' }]);
    expect(await objects()).toEqual([]);
    const wrong = { ...settings, s3SecretAccessKey: 'another-secret' };
    expect(await bucketAccess(wrong)).toMatchObject([{ state: 'bad', what: expect.stringMatching(/403/) }]);
    const { s3AccessKeyId: _, ...incomplete } = settings;
    expect(await bucketAccess(incomplete)).toMatchObject([{ state: 'bad' }]);
  });

  test('more objects than a listing holds are all listed', async () => {
    const nothing = { bytes: 1, sha256: sha256OfZero, open: zero };
    const some = Array.from({ length: 15 }, (_, n) => n);
    for (let n = 0; n < 67; n++)
      await Promise.all(some.map((m) => bucket.put(`many/${15 * n + m}`, nothing)));
    expect(await bucket.list('many/')).toHaveLength(1_005);
    expect(await bucket.list('many/100')).toHaveLength(6);
  }, 120_000);
});

const sha256OfZero = '5feceb66ffc86f38d952786c6d696c79c2dbc239dd4e91b46729d73a27fb57e9';
async function* zero(): AsyncIterable<Uint8Array> {
  yield Buffer.from('0');
}
