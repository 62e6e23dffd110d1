import { execFileSync, spawn } from 'node:child_process';
import { hash } from 'node:crypto';
import { once } from 'node:events';
import { cp, mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest';
import { openSqliteLog } from '../../../shared/log/sqlite/open-sqlite-log.ts';
import { createAccessKey, readAccessKeys } from '../../../shared/runtime/access-keys.ts';
import { dataFolder } from '../../../shared/runtime/data-folder.ts';
import { makeSmallLog } from '../../../test/audit/small-log.ts';
import { clawloop, until } from '../../../test/e2e/harness/clawloop.ts';

const cli = fileURLToPath(new URL('../main.ts', import.meta.url));
const waiting = 'outbox/000000000000001-here-tag-10.json';

/** A data folder, and a backup of it with one point. */
let made: string;
beforeAll(async () => {
  made = await mkdtemp(join(tmpdir(), 'clawloop-backup-'));
  const data = dataFolder(join(made, 'data'));
  await makeSmallLog(data.log);
  await createAccessKey(data.keys, 'ann');
  await writeFile(data.sessionSecret, 'a secret');
  await writeFile(data.usedTokens, '{"tokens":7}');
  await mkdir(data.outbox);
  await writeFile(join(data.root, waiting), 'an event');
  await backup(made);
});
afterAll(() => rm(made, { recursive: true, force: true }));

let place: string;
beforeEach(async () => {
  place = await mkdtemp(join(tmpdir(), 'clawloop-backup-'));
  onTestFinished(() => rm(place, { recursive: true, force: true }));
  await cp(made, place, { recursive: true });
});

const backup = (at: string, ...more: readonly string[]) =>
  clawloop(['backup', join(at, 'backup'), '--data-folder', join(at, 'data'), ...more]);
const restore = (...more: readonly string[]) =>
  clawloop(['restore', join(place, 'backup'), '--data-folder', join(place, 'new'), ...more]);
const points = () => readdir(join(place, 'backup', 'points'));
/** The only point's folder. */
const pointFolder = async () => join(place, 'backup', 'points', (await points())[0]!);

async function changeByte(path: string): Promise<void> {
  const bytes = await readFile(path);
  const at = Math.floor(bytes.length / 2);
  await writeFile(path, bytes.with(at, bytes[at]! ^ 1));
}

/** Runs a backup in a shell that sets limits first. */
async function backupInShell(limits: string) {
  const argv = [process.execPath, '--disable-warning=ExperimentalWarning', cli, 'backup'];
  const child = spawn('bash', [
    '-c',
    `${limits}; exec "$0" "$@"`,
    ...argv,
    join(place, 'backup'),
    '--data-folder',
    join(place, 'data'),
  ]);
  let stderr = '';
  child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, stderr };
}

test('a restored folder has log, keys, secret, spending and outbox, and balances', async () => {
  const { code, stdout } = await restore();
  expect(stdout).toMatch(/^restored 0001-\S+, \d+ records, to .*new; auditing/m);
  expect(stdout).toMatch(/^balances$/m);
  expect(code).toBe(0);
  const [data, restored] = [dataFolder(join(place, 'data')), dataFolder(join(place, 'new'))];
  expect(await readAccessKeys(restored.keys)).toEqual(await readAccessKeys(data.keys));
  expect(await readFile(restored.sessionSecret, 'utf8')).toBe('a secret');
  expect(await readFile(restored.usedTokens, 'utf8')).toBe('{"tokens":7}');
  expect(await readFile(join(restored.root, waiting), 'utf8')).toBe('an event');
  const logs = await Promise.all([data, restored].map(({ log }) => openSqliteLog({ folder: log })));
  const [before, after] = await Promise.all(logs.map((log) => log.verify('turns')));
  await Promise.all(logs.map((log) => log.close()));
  expect(after).toEqual(before);
});

test('--keep-points bounds the points; list shows them, and a restore takes one by its number', async () => {
  for (const id of ['0002', '0003']) {
    const { code, stdout } = await backup(place, '--keep-points', '2');
    expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringMatching(`^${id}-`) });
  }
  expect((await points()).map((name) => name.slice(0, 4))).toEqual(['0002', '0003']);
  const { stdout } = await clawloop(['backup', 'list', join(place, 'backup'), '--json']);
  const rows = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { point: string; records: number });
  expect(rows.map(({ point }) => point)).toEqual(await points());
  expect(rows[0]!.records).toBeGreaterThan(10);
  expect((await restore('--point', '2')).stdout).toMatch(/^restored 0002-/);
  expect(await restore('--point', '1')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('no point 1'),
  });
});

test.each(['log/log.sqlite', 'keys.json', waiting, 'manifest.json'])(
  'one changed byte in %s of a point is refused, and nothing is restored',
  async (path) => {
    await backup(place);
    const [, latest] = await points();
    await changeByte(join(place, 'backup', 'points', latest!, path));
    const refused = await restore();
    expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining('damaged'), stdout: '' });
    expect(refused.stderr).toContain(path);
    expect(await readdir(place)).not.toContain('new');
    expect(await clawloop(['backup', 'verify', join(place, 'backup')])).toMatchObject({ code: 2 });
    expect((await restore('--point', '1')).code).toBe(0);
  },
);

test('a point without one of its files is refused', async () => {
  const missing = join(await pointFolder(), 'keys.json');
  await rm(missing);
  expect(await restore()).toMatchObject({ code: 2, stderr: expect.stringContaining(missing) });
  expect(await readdir(place)).not.toContain('new');
});

test('a path that leads out of the data folder is refused', async () => {
  const folder = await pointFolder();
  const text = (await readFile(join(folder, 'manifest.json'), 'utf8')).replace(
    '"keys.json"',
    '"../keys.json"',
  );
  await writeFile(join(folder, 'manifest.json'), text);
  await writeFile(join(folder, 'manifest.json.sha256'), `${hash('sha256', text)}  manifest.json\n`);
  expect(await restore()).toMatchObject({ code: 2, stderr: expect.stringContaining('a path inside') });
});

test('a backup that is killed leaves the earlier point, and the next backup clears up', async () => {
  const keys = dataFolder(join(place, 'data')).keys;
  const text = await readFile(keys);
  await rm(keys);
  execFileSync('sh', ['-c', 'mkfifo "$0"', keys]); // nobody writes to it, so the backup waits there after it has copied the log
  const unfinished = join(place, 'backup', '.unfinished');
  const isUnderWay = async () => {
    const names = await readdir(unfinished, { recursive: true }).catch(() => []);
    return names.some((name) => name.endsWith('log.sqlite'));
  };
  let other: ReturnType<typeof backup> | undefined;
  const { code } = await clawloop(
    ['backup', join(place, 'backup'), '--data-folder', join(place, 'data')],
    {},
    (signal) =>
      void until('the log is being copied', isUnderWay)
        .then(() => {
          other = backup(place);
          return other;
        })
        .finally(() => signal('SIGKILL')),
  );
  expect(await other).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('another backup is writing'),
  });
  expect(code).toBe(1); // as a process without an exit code
  expect(await readdir(unfinished)).not.toEqual([]);
  expect(await points()).toHaveLength(1);
  expect((await restore()).stdout).toMatch(/^restored 0001-/);
  await rm(keys);
  await writeFile(keys, text);
  expect((await backup(place)).stdout).toMatch(/^0002-/);
  expect(await readdir(join(place, 'backup'))).not.toContain('.unfinished');
});

test('a target that takes no more bytes is an error that names it, and the earlier point stays', async () => {
  const before = await readdir(join(place, 'backup'), { recursive: true });
  // the largest file in KiB: a write beyond it fails as on a full disk
  const { code, stderr } = await backupInShell('ulimit -f 40');
  expect(code).toBe(1);
  expect(stderr).toContain(`cannot write ${join(place, 'backup')}`);
  expect(stderr).toContain('earlier points are intact');
  expect(await readdir(join(place, 'backup'), { recursive: true })).toEqual(before);
  expect((await restore()).code).toBe(0);
});

test('a backup folder that holds something else, or another log, is refused and left alone', async () => {
  const data = join(place, 'data');
  await writeFile(join(place, 'letter.txt'), 'dear ann');
  const other = join(place, 'other');
  await (await openSqliteLog({ folder: dataFolder(other).log })).close();
  const refusals = [
    [place, data, 'holds other files'],
    [data, data, 'holds other files'],
    [join(place, 'letter.txt'), data, 'cannot write'],
    [join(place, 'backup'), other, 'backups of another log'],
    [join(place, 'x'), join(place, 'nothing'), 'no log in'],
  ] as const;
  for (const [folder, from, why] of refusals)
    expect(await clawloop(['backup', folder, '--data-folder', from])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(why),
    });
  expect((await readdir(place)).sort()).toEqual(['backup', 'data', 'letter.txt', 'other']);
});

test('a restore writes to an empty or absent folder only', async () => {
  await mkdir(join(place, 'new'));
  expect((await restore()).code).toBe(0);
  const before = await readdir(join(place, 'new'), { recursive: true });
  expect(await restore()).toMatchObject({ code: 2, stderr: expect.stringContaining('is not empty') });
  expect(await readdir(join(place, 'new'), { recursive: true })).toEqual(before);
  const nowhere = await clawloop(['restore', join(place, 'x'), '--data-folder', join(place, 'y')]);
  expect(nowhere).toMatchObject({ code: 2, stderr: expect.stringContaining('there is no backup in') });
});

test('a restore that was killed between its renames is done again, unless the folder holds other files', async () => {
  const root = join(place, 'new');
  const killed = async () => {
    await mkdir(join(root, '.restoring'));
    await rename(join(root, 'log'), join(root, '.restoring', 'log'));
  };
  expect((await restore()).code).toBe(0);
  const before = await readdir(root, { recursive: true });
  await killed();
  expect((await restore()).code).toBe(0);
  expect((await readdir(root, { recursive: true })).sort()).toEqual(before.sort());
  await killed();
  await writeFile(join(root, 'letter.txt'), 'mine');
  expect(await restore()).toMatchObject({ code: 2, stderr: expect.stringContaining('it holds letter.txt') });
  expect(await readFile(join(root, 'letter.txt'), 'utf8')).toBe('mine');
});

test('a point of the log in a data folder is not restored to Kafka', async () => {
  const { code, stderr } = await restore('--log', 'kafka');
  expect(code).toBe(2);
  expect(stderr).toContain('was backed up with --log sqlite: restore it with --log sqlite');
});
