import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import { createLogger } from './logger.ts';

test('what was said to Redis when it refused a login is not written down', async () => {
  const out = new PassThrough();
  const err = Object.assign(new Error('WRONGPASS'), {
    command: { name: 'auth', args: ['user', 'a secret'] },
  });
  createLogger('test', 'info', out).warn({ err }, 'queue');
  const line = out.read().toString() as string;
  expect(line).toContain('WRONGPASS');
  expect(line).not.toContain('a secret');
});
