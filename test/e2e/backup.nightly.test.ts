import { mkdir, mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { askerOf } from './harness/asker.ts';
import { chatAndReact } from './harness/chat-and-react.ts';
import { startChatting } from './harness/chatting.ts';
import { type ClawLoop, clawloop, startClawLoop, until } from './harness/clawloop.ts';
import { loopOnFolder } from './harness/loop-on-folder.ts';
import { runCommand } from './harness/run-command.ts';

const flags = ['--collector-batch-size', '4'];

describe('a deployment that is lost, and its backup', () => {
  const on = loopOnFolder();
  let place: string;
  let backup: string;
  let key: string;
  let restored: ClawLoop | undefined;
  beforeAll(async () => {
    place = await mkdtemp(join(tmpdir(), 'clawloop-backup-'));
    backup = join(place, 'backup');
    key = (await on.run('keys', 'create', 'ann')).split('\n')[0]!;
    await on.start(...flags);
  });
  afterAll(async () => {
    await restored?.stop();
    await rm(place, { recursive: true, force: true });
  });

  const headOf = async (folder: string): Promise<number> =>
    Number(/^v(\d+) .* head /m.exec(await runCommand('policy', 'list', '--data-folder', folder))?.[1]);
  const untilTrained = (loop: ClawLoop, after: number) =>
    until(`a version after v${after}`, async () => (await headOf(loop.dataFolder)) > after, 150_000);
  const digests = async (folder: string): Promise<readonly string[]> =>
    (await runCommand('replay', '--data-folder', folder)).split('\n').filter((line) => /\bv\d+\b/.test(line));
  /** Inode and time of each file of the checkpoints in the backup. */
  const storedCheckpoints = async (): Promise<Readonly<Record<string, string>>> => {
    const entries = await readdir(join(backup, 'checkpoints'), { recursive: true, withFileTypes: true });
    const files = entries.filter((entry) => entry.isFile()).map((one) => join(one.parentPath, one.name));
    const marks = files.map(async (path) => {
      const { ino, mtimeMs } = await stat(path);
      return [path, `${ino} ${mtimeMs}`] as const;
    });
    return Object.fromEntries(await Promise.all(marks));
  };

  test('a backup is made while people chat, and a second one copies no checkpoint again', async () => {
    const ask = askerOf(on.loop.url, key);
    await chatAndReact(ask);
    await untilTrained(on.loop, 0);
    const people = await startChatting(ask);
    const before = people.answers();
    expect(await on.run('backup', backup)).toMatch(/^0001-\S+: \d+ records, 1 checkpoint; wrote/);
    await until('people go on', () => people.answers() > before);
    const copied = await storedCheckpoints();
    expect(Object.keys(copied)).not.toEqual([]);
    expect(await on.run('backup', backup)).toMatch(
      /^0002-\S+: \d+ records, 1 checkpoint \(1 already there\)/,
    );
    expect(await storedCheckpoints()).toEqual(copied);
    await people.stop();
    expect(await on.run('backup', 'list', backup)).toMatch(
      /0001-.* default v1 +1 .*\n0002-.* default v1 +1 /,
    );
    expect(await on.run('backup', 'verify', backup)).toMatch(/^0002-\S+: \d+ files, .* all as written/);
  });

  test('after a SIGKILL of everything, the restored folder balances and replays to the same digests', async () => {
    const pids = [on.loop.supervisor, ...Object.values(await on.loop.pids())];
    for (const pid of pids) process.kill(pid, 'SIGKILL');
    const original = await digests(on.folder);
    expect(original).not.toEqual([]);
    const folder = join(place, 'elsewhere', 'data');
    expect(await runCommand('restore', backup, '--data-folder', folder)).toMatch(
      /^restored 0002-[\s\S]*^balances$/m,
    );
    expect(await digests(folder)).toEqual(original);
    expect(await headOf(folder)).toBe(1);
    expect(await runCommand('audit', '--deep', '--data-folder', folder)).toContain('differences: 0');
  });

  test('chat goes on there with the same access key and version, and learning continues', async () => {
    restored = await startClawLoop(join(place, 'elsewhere', 'data'), flags);
    const refused = await fetch(`${restored.url}/v1/models`);
    expect(refused.status).toBe(401);
    const models = await fetch(`${restored.url}/v1/models`, { headers: { authorization: `Bearer ${key}` } });
    expect(await models.text()).toContain('clawloop@v1');
    const head = await headOf(restored.dataFolder);
    await chatAndReact(askerOf(restored.url, key));
    await untilTrained(restored, head);
    expect(await runCommand('audit', '--data-folder', restored.dataFolder)).toContain('balances');
  });

  test('an earlier point is restored too, but never over other data', async () => {
    const folder = join(place, 'earlier');
    await mkdir(folder);
    expect(await runCommand('restore', backup, '--point', '1', '--data-folder', folder)).toContain(
      'balances',
    );
    const again = await clawloop(['restore', backup, '--data-folder', folder]);
    expect(again).toMatchObject({ code: 2, stderr: expect.stringContaining('is not empty') });
  });
});
