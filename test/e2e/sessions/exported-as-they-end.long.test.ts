import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type ClawLoop, clawloop, freePort, startClawLoop, until } from '../harness/clawloop.ts';
import { rlClient } from '../rl-client.ts';

/** s; longer than the time between two steps of a person in this test, also on a busy machine */
const IDLE_S = 15;

let folder: string;
let loop: ClawLoop | undefined;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'clawloop-ended-'));
});
afterEach(async () => {
  await loop?.stop();
  await rm(folder, { recursive: true, force: true });
});

test('each session is exported once after its end by client or timer, despite kills', async () => {
  const [data, out] = [join(folder, 'data'), join(folder, 'out')];
  const flags = [
    '--backend',
    'wasm',
    '--sessions-export',
    out,
    '--collector-session-timeout',
    String(IDLE_S),
    '--collector-sweep-ms',
    '200',
  ];
  loop = await startClawLoop(data, flags);
  const rl = rlClient(() => loop!.url);
  const exporter = async () => (await loop!.pids())['sessions-export'];
  const speak = async (task: string) => {
    const { session_id, api_key } = await rl.start(task);
    await rl.chat(api_key, `hello there, ${task}`);
    await rl.post('/rl/set_reward', api_key, { reward: 0.5 });
    return { name: `${session_id}.jsonl`, session: session_id, key: api_key };
  };
  const exported = (name: string) =>
    until(`${name} is exported`, async () => (await readdir(out).catch((): string[] => [])).includes(name));
  /** A file that was written again would be another one. */
  const file = async (name: string) => (await stat(join(out, name))).ino;

  const first = await speak('ended');
  await rl.post('/rl/end_session', first.key);
  await exported(first.name);
  const before = await file(first.name);

  process.kill((await exporter())!, 'SIGKILL');
  const left = await speak('left-alone');
  await exported(left.name);
  const taken = await speak('taken-back');
  await rl.post('/rl/end_session', taken.key, { discard: true });

  // ends while no exporter runs, during a start without export
  await loop.stop();
  loop = await startClawLoop(data, ['--backend', 'wasm']);
  const missed = await speak('missed');
  await rl.post('/rl/end_session', missed.key);
  await loop.stop();
  loop = await startClawLoop(data, flags);
  await exported(missed.name);

  expect((await readdir(out)).sort()).toEqual([first.name, left.name, missed.name].sort());
  expect(await file(first.name)).toBe(before);
  for (const { name, session } of [first, left, missed]) {
    const { code, stdout } = await clawloop(['sessions', 'export', session, '--data-folder', data]);
    expect(code).toBe(0);
    expect(await readFile(join(out, name), 'utf8')).toBe(stdout);
    expect(JSON.parse(stdout)).toMatchObject({ session_id: session, reward: 0.5 });
  }
  const table = join(folder, 'rows.parquet');
  const ended = [first.session, left.session, missed.session];
  const atif = await clawloop(['sessions', 'export', ...ended, '--style', 'atif', '--data-folder', data]);
  const trajectories = atif.stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as object);
  expect(trajectories).toMatchObject(
    ended.map((session_id) => ({ session_id, steps: [{ source: 'user' }, { extra: { reward: 0.5 } }] })),
  );
  const rows = ['--style', 'hf', '--format', 'parquet', '--out', table];
  expect((await clawloop(['sessions', 'export', ...rows, '--data-folder', data])).code).toBe(0);
  expect((await readFile(table)).subarray(-4).toString()).toBe('PAR1');

  const last = (await exporter())!;
  const stoppedAt = performance.now();
  await loop.stop();
  expect(performance.now() - stoppedAt).toBeLessThan(12_000); // none had to be killed
  await until('the exporter ended with the others', () => {
    try {
      process.kill(last, 0);
      return false;
    } catch {
      return true;
    }
  });
});

test('a folder that cannot be created is reported at the start', async () => {
  await writeFile(join(folder, 'file'), '');
  const ports = await Promise.all([freePort(), freePort(), freePort(), freePort()]);
  const { code, stdout } = await clawloop([
    'up',
    '--data-folder',
    join(folder, 'data'),
    '--port',
    String(ports[0]),
    ...['collector', 'judge', 'trainer'].flatMap((name, n) => [
      `--${name}-health-port`,
      String(ports[n + 1]),
    ]),
    '--backend',
    'wasm',
    '--sessions-export',
    join(folder, 'file', 'out'),
  ]);
  expect([code, stdout]).toEqual([2, expect.stringContaining('cannot write to')]);
});
