import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, test } from 'vitest';

const entry = fileURLToPath(new URL('./testing/unruly-service.ts', import.meta.url));

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'clawloop-service-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

function start(flags: readonly string[]) {
  const child = spawn(
    process.execPath,
    ['--disable-warning=ExperimentalWarning', entry, '--data-folder', folder, ...flags],
    { stdio: ['ignore', 'pipe', 'pipe', 'ipc'] },
  );
  const ready = new Promise<void>((resolve) => {
    child.stdout!.on('data', (chunk: Buffer) => chunk.includes('"ready"') && resolve());
  });
  const ended = Promise.all([once(child, 'exit'), text(child.stdout!), text(child.stderr!)]).then(
    ([[code], stdout, stderr]) => ({ code: code as number | null, stdout, stderr }),
  );
  return { child, ready, ended };
}

test.each(['SIGTERM', 'SIGINT', 'SIGHUP'] as const)('%s ends a service cleanly', async (signal) => {
  const { child, ready, ended } = start([]);
  await ready;
  child.kill(signal);
  expect(await ended).toMatchObject({ code: 0, stdout: expect.stringContaining('"stopped"') });
});

test('a service ends with its supervisor', async () => {
  const { child, ready, ended } = start([]);
  await ready;
  child.disconnect();
  expect((await ended).code).toBe(0);
});

test('a service ends at once if its supervisor is already gone', async () => {
  const { child, ended } = start([]);
  child.disconnect();
  expect((await ended).code).toBe(0);
});

test('a signal before the works begin is not missed', async () => {
  expect((await start(['--way', 'stops-early']).ended).code).toBe(0); // 1 would mean that the drain took too long
});

test.each([
  ['fails', 'the work failed'],
  ['rejects', 'nobody awaits this'],
  ['throws', 'out of nowhere'],
])('a service that %s logs a fatal error and ends with 1', async (way, message) => {
  const { code, stdout } = await start(['--way', way]).ended;
  const fatal = stdout.split('\n').find((line) => line.includes('"level":60'));
  expect(code).toBe(1);
  expect(JSON.parse(fatal ?? '{}')).toMatchObject({ msg: 'cannot continue; exiting', err: { message } });
});

test('a taken port or a log with other partitions is refused with a readable reason', async () => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { readonly port: number };
  const taken = await start(['--health-port', String(port)]).ended;
  server.close();
  expect(taken).toMatchObject({ code: 2, stderr: expect.stringContaining('address already in use') });
  expect(await start(['--partitions', '5']).ended).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('was created with 3 partitions'),
  });
});
