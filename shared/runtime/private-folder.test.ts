import { chmod, chown, mkdir, mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { isForeign, refuseForeignFolder, widerThanPrivate } from './private-folder.ts';

let root: string;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'clawloop-private-'));
  onTestFinished(() => rm(root, { recursive: true, force: true }));
});

test.each([
  ['one’s own', 1000, 1000, false],
  ['that of the superuser, as a volume may be', 0, 1000, false],
  ['another user’s', 1001, 1000, true],
  ['a user’s, to the superuser', 1000, 0, true],
  ['any, on a system without users', 1000, undefined, false],
])('a folder is foreign or not: %s', (_about, uid, ownUid, expected) => {
  expect(isForeign({ uid, mode: 0o700 }, ownUid)).toBe(expected);
});

test('an own or missing folder is accepted', async () => {
  await refuseForeignFolder(root);
  await refuseForeignFolder(join(root, 'missing'));
});

test('a folder of another user is refused', async () => {
  if (process.geteuid?.() === 0) await chown(root, 4711, 4711); // the superuser's own would be trusted
  const { uid } = await stat(root);
  await expect(refuseForeignFolder(root, uid + 1)).rejects.toMatchObject({
    name: 'Refusal',
    message: expect.stringContaining(`belongs to the user with id ${uid}`),
  });
});

test('a folder that others can enter is reported, with a fix', async () => {
  const folder = join(root, 'data');
  await mkdir(folder);
  await chmod(folder, 0o755);
  expect(await widerThanPrivate(folder)).toEqual({
    what: `other users of this machine can enter ${folder} (mode 0755), which holds conversations`,
    advice: `chmod -R go= ${folder}`,
  });
  await chmod(folder, 0o700);
  expect(await widerThanPrivate(folder)).toBeUndefined();
  expect(await widerThanPrivate(join(root, 'missing'))).toBeUndefined();
});
