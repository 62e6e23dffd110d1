import { randomBytes } from 'node:crypto';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { openBucket } from '../../../shared/bucket/open-bucket.ts';
import type { EventLog } from '../../../shared/log/event-log.ts';
import { openSqliteLog } from '../../../shared/log/sqlite/open-sqlite-log.ts';
import { PIECE_BYTES } from '../../../shared/policy/checkpoints/bucket.ts';
import { type BucketStore, openBucketStore } from '../../../shared/policy/checkpoints/bucket-store.ts';
import { openCheckpointStore } from '../../../shared/policy/checkpoints/checkpoint-store.ts';
import { createAccessKey, readAccessKeys } from '../../../shared/runtime/access-keys.ts';
import { type DataFolder, dataFolder } from '../../../shared/runtime/data-folder.ts';
import { makeSmallLog } from '../../../test/audit/small-log.ts';
import { describeWithS3, newBucket, type TestBucket } from '../../../test/contract/with-s3.ts';
import { clawloop } from '../../../test/e2e/harness/clawloop.ts';
import { commitVersion, promote } from '../../../test/e2e/serving-promote.ts';

describeWithS3('backups in a bucket', (server) => {
  let place: string;
  let data: DataFolder;
  let bucket: TestBucket;
  let url: string;
  let env: Readonly<Record<string, string>>;
  beforeEach(async () => {
    place = await mkdtemp(join(tmpdir(), 'clawloop-backup-'));
    onTestFinished(() => rm(place, { recursive: true, force: true }));
    data = dataFolder(join(place, 'data'));
    await makeSmallLog(data.log);
    await createAccessKey(data.keys, 'ann');
    await writeFile(data.sessionSecret, '');
    bucket = await newBucket(server());
    url = bucket.config.checkpoints!;
    env = {
      CLAWLOOP_S3_ENDPOINT: server().url,
      CLAWLOOP_S3_ACCESS_KEY_ID: server().accessKeyId,
      CLAWLOOP_S3_SECRET_ACCESS_KEY: server().secretAccessKey,
    };
  });

  const backup = (...more: readonly string[]) =>
    clawloop(['backup', url, '--data-folder', data.root, ...more], env);
  const restore = (...more: readonly string[]) =>
    clawloop(['restore', url, '--data-folder', join(place, 'new'), ...more], env);
  const objects = async () => readdir(join(bucket.files, 'objects'));
  const withLog = async (folder: string, use: (log: EventLog) => Promise<void>) => {
    const log = await openSqliteLog({ folder });
    try {
      await use(log);
    } finally {
      await log.close();
    }
  };
  const train = async (version: number) => {
    const parent = version - 1;
    const made = { version, parent, adapter: 'default', baseDigest: 'base' };
    const committed = await commitVersion(data.checkpoints('default'), { ...made, strength: version });
    await withLog(data.log, (log) => promote(log, { ...made, ...committed }));
    return committed.checkpoint;
  };
  const heads = async (folder: string) => {
    let found: unknown;
    await withLog(folder, async (log) => {
      found = await log.verify('turns');
    });
    return found;
  };

  test('a restored folder has log, keys and checkpoints, and balances; the upload leaves no copy', async () => {
    const name = await train(1);
    const large = randomBytes(2 * PIECE_BYTES + 5);
    await mkdir(data.outbox);
    await writeFile(join(data.outbox, 'large.json.broken'), large);
    const { code, stdout } = await backup();
    expect([code, stdout]).toEqual([
      0,
      expect.stringMatching(/^0001-\S+: \d+ records, 1 checkpoint; wrote .* to s3:/),
    ]);
    expect(await readdir(data.backupUpload)).toEqual(['.lock']);
    expect((await clawloop(['backup', 'verify', url], env)).stdout).toContain('all as written');
    const restored = await restore();
    expect(restored.stdout).toMatch(/^restored 0001-\S+, \d+ records, to .*new; auditing/m);
    const there = dataFolder(join(place, 'new'));
    expect(await readAccessKeys(there.keys)).toEqual(await readAccessKeys(data.keys));
    expect(await readFile(there.sessionSecret, 'utf8')).toBe('');
    expect(await readdir(there.checkpoints('default'))).toEqual([name]);
    expect(large.equals(await readFile(join(there.outbox, 'large.json.broken')))).toBe(true);
    expect(await heads(there.log)).toEqual(await heads(data.log));
  });

  test('a later point uploads only what is new; --keep-points removes what only older points had', async () => {
    await train(1);
    await backup();
    const before = await objects();
    await train(2);
    expect((await backup()).stdout).toContain('2 checkpoints (1 already there)');
    const added = (await objects()).filter((name) => !before.includes(name));
    expect(added.length).toBeLessThan(before.length);
    // as an upload leaves them that is killed
    await writeFile(join(bucket.files, 'objects', `${'0'.repeat(64)}.0`), 'left over');
    await mkdir(join(data.backupUpload, 'points', 'half'), { recursive: true });
    const { stdout } = await backup('--keep-points', '1');
    expect(stdout).toMatch(/^0003-.*\nremoved 0001-.*\nremoved 0002-/);
    expect(await objects()).not.toContain(`${'0'.repeat(64)}.0`);
    expect(await readdir(data.backupUpload)).toEqual(['.lock']);
    const list = await clawloop(['backup', 'list', url, '--json'], env);
    expect(list.stdout.trim().split('\n')).toHaveLength(1);
    expect((await restore()).stdout).toMatch(/^restored 0003-/);
    expect(await readdir(dataFolder(join(place, 'new')).checkpoints('default'))).toHaveLength(2);
  });

  test('a changed or missing object is refused, and nothing is restored', async () => {
    await backup();
    const contents = await Promise.all(
      (await objects()).map(async (name) => {
        const path = join(bucket.files, 'objects', name);
        return { path, content: await readFile(path) };
      }),
    );
    // an empty file, such as the session secret, is an object too
    const { path, content } = contents.find((object) => object.content.length > 0)!;
    await writeFile(path, content.with(0, content[0]! ^ 1));
    const changed = await restore();
    expect(changed).toMatchObject({ code: 2, stderr: expect.stringContaining('damaged') });
    await rm(path);
    const missing = await restore();
    expect(missing).toMatchObject({ code: 2, stderr: expect.stringContaining('lacks objects/') });
    expect(await readdir(place)).not.toContain('new');
    const point = (await readdir(join(bucket.files, 'points')))[0]!;
    await writeFile(join(bucket.files, 'points', point), 'x');
    expect(await clawloop(['backup', 'list', url], env)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('damaged'),
    });
  });

  test('a prefix with other objects, or with backups of another log, is refused', async () => {
    await backup();
    const other = dataFolder(join(place, 'other'));
    await makeSmallLog(other.log);
    const refused = await clawloop(['backup', url, '--data-folder', other.root], env);
    expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining('of another log') });
    await rm(join(bucket.files, 'clawloop-backup.json'));
    expect(await backup()).toMatchObject({ code: 2, stderr: expect.stringContaining('holds other objects') });
  });

  describe('checkpoints in a bucket', () => {
    let checkpoints: TestBucket;
    let folder: string;
    beforeEach(async () => {
      checkpoints = await newBucket(server());
      folder = join(place, 'backup');
    });
    const withStore = async <Result>(at: TestBucket, root: DataFolder, use: (of: BucketStore) => Result) => {
      const opened = openBucket(at.place);
      const local = openCheckpointStore(root.checkpoints('default'));
      try {
        return await use(openBucketStore({ bucket: opened, adapter: 'default', local }));
      } finally {
        await opened.close();
      }
    };
    /** As a trainer of another host leaves it: the checkpoint is in the bucket alone. */
    const trainElsewhere = async (version: number) => {
      const name = await train(version);
      await withStore(checkpoints, data, (store) => store.complete(name));
      await rm(data.checkpoints('default'), { recursive: true });
      return name;
    };
    const namesIn = (at: TestBucket) => withStore(at, data, (store) => store.names());
    const into = (...more: readonly string[]) =>
      clawloop(
        [
          'backup',
          folder,
          '--checkpoints',
          checkpoints.config.checkpoints!,
          '--data-folder',
          data.root,
          ...more,
        ],
        env,
      );
    const from = (at: TestBucket) =>
      clawloop(
        ['restore', folder, '--checkpoints', at.config.checkpoints!, '--data-folder', join(place, 'new')],
        env,
      );

    test('a point has them, and a trainer uploads what was restored to a new prefix', async () => {
      const names = [await trainElsewhere(1), await trainElsewhere(2)];
      expect((await into()).stdout).toMatch(/^0001-\S+: \d+ records, 2 checkpoints; /);
      const third = await trainElsewhere(3);
      await rm(join(checkpoints.files, 'default', 'manifests', `${names[0]}.json`));
      expect((await into()).stdout).toMatch(/^0002-\S+: \d+ records, 2 checkpoints \(1 already there\); /);
      expect(await readdir(join(data.root, 'checkpoints'))).toEqual([]);
      expect((await clawloop(['backup', 'verify', folder])).stdout).toContain('all as written');

      expect(await from(checkpoints)).toMatchObject({
        code: 2,
        stderr: expect.stringContaining('holds objects already'),
      });
      expect(await readdir(place)).not.toContain('new');
      const other = await newBucket(server());
      expect((await from(other)).stdout).toContain(`--checkpoints ${other.config.checkpoints}`);
      const there = dataFolder(join(place, 'new'));
      expect((await readdir(there.checkpoints('default'))).toSorted()).toEqual([names[1], third]);
      expect(await withStore(other, there, (store) => store.problem(true))).toBeUndefined();
      expect((await namesIn(other)).toSorted()).toEqual([names[1], third]);
    });

    test('one with a changed object is missing, and nothing is added while the store is away', async () => {
      const name = await trainElsewhere(1);
      await server().kill();
      try {
        expect(await into()).toMatchObject({
          code: 1,
          stderr: expect.stringContaining('No point was added'),
        });
      } finally {
        await server().start();
      }
      const objects = await readdir(join(checkpoints.files, 'default', 'objects'), {
        recursive: true,
        withFileTypes: true,
      });
      const { parentPath, name: file } = objects.find((entry) => entry.name.startsWith('adapter_model'))!;
      const content = await readFile(join(parentPath, file));
      await writeFile(join(parentPath, file), content.with(0, content[0]! ^ 1));
      const { code, stdout, stderr } = await into();
      expect([code, stdout]).toEqual([1, expect.stringContaining('0 checkpoints')]);
      expect(stderr).toMatch(new RegExp(`MISSING  v1 of default .*${name} is damaged`));
      expect(await namesIn(checkpoints)).toEqual([name]);
    });
  });

  test('while the store is away, the command says so and adds nothing; without an access key it says what to set', async () => {
    await backup();
    await server().kill();
    try {
      expect(await backup()).toMatchObject({
        code: 1,
        stderr: expect.stringContaining('No point was added; earlier points are intact'),
      });
      expect((await clawloop(['backup', 'list', url], env)).code).toBe(1);
    } finally {
      await server().start();
    }
    expect((await restore()).stdout).toMatch(/^restored 0001-/);
    expect(await clawloop(['backup', url, '--data-folder', data.root])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('CLAWLOOP_S3_ACCESS_KEY_ID'),
    });
  });
});
