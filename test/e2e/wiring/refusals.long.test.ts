import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmod, cp, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openSqliteLog } from '../../../shared/log/sqlite/open-sqlite-log.ts';
import { clawloop, freePort } from '../harness/clawloop.ts';
import { type ServiceName, startService } from './service-process.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'clawloop-refusals-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** Starts a service that must fail with exit code 2. Resolves to its message. */
async function refusal(name: ServiceName, flags: readonly string[], root?: string): Promise<string> {
  const ended = await startService(name, flags, root === undefined ? {} : { root }).ended;
  expect(ended, ended.output + ended.stderr).toMatchObject({ code: 2 });
  expect(ended.stderr).toContain(`clawloop ${name}: `);
  expect(ended.stderr).not.toMatch(/\n +at /); // no stack
  return ended.stderr;
}

const fresh = (name: string) => join(folder, name);

test.each(['serving', 'trainer'] as const)('%s: a missing model', async (name) => {
  const flags = ['--data-folder', fresh(name), '--model', '/nowhere'];
  expect(await refusal(name, flags)).toContain('no model at /nowhere');
});

test.each(['serving', 'trainer'] as const)('%s: a native backend that is not installed', async (name) => {
  // a copy of the code, beside which nothing was installed
  const root = fresh(`tree-${name}`);
  for (const part of ['clients', 'services', 'shared', 'infra/tensorflow', 'package.json'])
    await cp(fileURLToPath(new URL(`../../../${part}`, import.meta.url)), join(root, part), {
      recursive: true,
    });
  await symlink(fileURLToPath(new URL('../../../node_modules', import.meta.url)), join(root, 'node_modules'));
  const flags = ['--data-folder', fresh(name), '--backend', 'native'];
  expect(await refusal(name, flags, root)).toContain('npm run setup:native');
});

test.skipIf(process.platform !== 'linux')('a data folder that cannot be created', async () => {
  expect(await refusal('collector', ['--data-folder', '/proc/x'])).toContain('cannot write to /proc/x');
  const { code, stderr } = await clawloop([
    'up',
    '--no-console',
    '--data-folder',
    '/proc/x',
    '--port',
    String(await freePort()),
  ]);
  expect({ code, stderr }).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('cannot write to /proc/x'),
  });
});

test('a log of a newer version, a log with other partitions, and a file that is not a log', async () => {
  const log = await openSqliteLog({ folder: join(fresh('newer'), 'log'), partitions: 3 });
  await log.close();
  const other = ['--data-folder', fresh('newer'), '--partitions', '5'];
  expect(await refusal('judge', other)).toContain('was created with 3 partitions');
  const file = join(fresh('newer'), 'log', 'log.sqlite');
  const database = new DatabaseSync(file);
  database.exec(`UPDATE meta SET value = '99' WHERE name = 'schemaVersion'`);
  database.close();
  expect(await refusal('judge', ['--data-folder', fresh('newer')])).toContain('has schema 99');
  await mkdir(join(fresh('none'), 'log'), { recursive: true });
  await writeFile(join(fresh('none'), 'log', 'log.sqlite'), 'this is no database, however long it is read');
  expect(await refusal('judge', ['--data-folder', fresh('none')])).toContain('is not a ClawLoop log');
});

test('a taken port, and an address of another machine', async () => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { readonly port: number };
  const taken = [
    ['serving', '--port'],
    ['judge', '--health-port'],
    ['trainer', '--health-port'],
  ] as const;
  for (const said of await Promise.all(
    taken.map(([name, flag]) => refusal(name, ['--data-folder', fresh('port'), flag, String(port)])),
  ))
    expect(said).toContain(String(port));
  server.close();
  const elsewhere = ['--data-folder', fresh('port'), '--health-host', '192.0.2.1'];
  expect(await refusal('collector', elsewhere)).toContain('192.0.2.1');
});

/** Root writes where permissions forbid it, but not on a disk that is read-only. */
const isRoot = process.getuid?.() === 0;
const mountReadOnly = (path: string) => spawnSync('mount', ['-t', 'tmpfs', '-o', 'ro', 'tmpfs', path]);
const mayMount = () => spawnSync('unshare', ['-m', 'mount', '-t', 'tmpfs', 'none', '/mnt']).status === 0;
const canClose = !isRoot || process.env.CLAWLOOP_REQUIRE_ALL === '1' || mayMount();

test.skipIf(!canClose)('a folder and a log of another user', async () => {
  await mkdir(fresh('closed'));
  if (isRoot) expect(mountReadOnly(fresh('closed')).status).toBe(0);
  else await chmod(fresh('closed'), 0o500);
  try {
    expect(await refusal('collector', ['--data-folder', fresh('closed')])).toContain('cannot write to');
  } finally {
    if (isRoot) spawnSync('umount', [fresh('closed')]);
  }
});

test('up refuses a missing model before it starts anything', async () => {
  const { code, stdout, stderr } = await clawloop([
    'up',
    '--no-console',
    '--data-folder',
    fresh('up'),
    '--model',
    '/nowhere',
  ]);
  expect(code).toBe(2);
  expect(stderr).toContain('no model at /nowhere');
  expect(stdout).not.toContain('starting');
});

test('up stops everything if one service is refused, and reports the reason', async () => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const taken = String((server.address() as { readonly port: number }).port);
  const ports = { collector: '0', judge: taken, trainer: '0' };
  const { code, stdout } = await clawloop([
    'up',
    '--no-console',
    '--data-folder',
    fresh('up'),
    '--port',
    String(await freePort()),
    ...Object.entries(ports).flatMap(([name, port]) => [`--${name}-health-port`, port]),
  ]);
  server.close();
  expect(code).toBe(2);
  expect(stdout).toMatch(/judge cannot continue:\n.*address already in use/);
  expect(stdout).not.toContain('starts again');
});
