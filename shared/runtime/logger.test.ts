import { fork } from 'node:child_process';
import { once } from 'node:events';
import { PassThrough } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { createLogger } from './logger.ts';

test('the login command of a refused Redis login is not logged', async () => {
  const out = new PassThrough();
  const err = Object.assign(new Error('WRONGPASS'), {
    command: { name: 'auth', args: ['user', 'a secret'] },
  });
  createLogger('test', 'info', out).warn({ err }, 'queue');
  const line = out.read().toString() as string;
  expect(line).toContain('WRONGPASS');
  expect(line).not.toContain('a secret');
});

test('a process ends normally when nobody reads its output', async () => {
  const entry = fileURLToPath(new URL('./testing/unread-log.ts', import.meta.url));
  const child = fork(entry, {
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    timeout: 50_000,
    killSignal: 'SIGKILL',
  });
  await once(child, 'message');
  child.stdout!.destroy(); // with some of it unread
  await once(child.stdout!, 'close');
  child.send('go on');
  expect(await once(child, 'exit')).toEqual([0, null]);
});
