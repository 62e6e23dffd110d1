import { Registry } from 'prom-client';
import { expect, onTestFinished, test } from 'vitest';
import { openHealthPort } from './health.ts';
import { withoutPlaces } from './without-places.ts';

const open = async (missing: string | undefined, host = '127.0.0.1', noted: object[] = []) => {
  const logger = { info: (about: object) => void noted.push(about) };
  const health = await openHealthPort({ host, port: 0 }, () => missing, new Registry(), { logger });
  onTestFinished(health.close);
  return (url: string, name: string) => health.server.inject({ url, headers: { host: name } });
};

test('a loopback port answers only /healthz under a foreign name', async () => {
  const ask = await open(undefined);
  for (const path of ['/readyz', '/metrics', '/readyz?x=/healthz', '/nowhere']) {
    expect((await ask(path, 'evil.example')).statusCode, path).toBe(403);
    expect((await ask(path, 'localhost.evil.example:8701')).statusCode, path).toBe(403);
  }
  expect((await ask('/healthz', 'evil.example')).statusCode).toBe(200);
  for (const name of ['localhost:8701', '127.0.0.1:8701', '[::1]:8701'])
    for (const path of ['/readyz', '/metrics']) expect((await ask(path, name)).statusCode).toBe(200);
});

test('a public port answers under any name', async () => {
  const ask = await open(undefined, '0.0.0.0');
  expect((await ask('/metrics', 'judge:8702')).statusCode).toBe(200);
});

test('the reason is sent without paths and digests, and logged once in full', async () => {
  const noted: object[] = [];
  const missing = `version 3 cannot be loaded: ./data/checkpoints/default/3-${'ab12'.repeat(8)} is damaged`;
  const ask = await open(missing, '127.0.0.1', noted);
  await ask('/readyz', 'localhost');
  const answer = await ask('/readyz', 'localhost');
  expect(answer.json()).toEqual({ ready: false, missing: 'version 3 cannot be loaded: ... is damaged' });
  expect(noted).toEqual([{ missing }]);
});

test.each([
  ["ENOENT: no such file, open '/home/ann/.clawloop/a b.json'", "ENOENT: no such file, open '... b.json'"],
  ['data/checkpoints/default/7 is gone', '... is gone'],
  ['C:\\Users\\ann\\x is gone', '... is gone'],
  [`holds ${'0'.repeat(64)}, not ${'f'.repeat(40)}`, 'holds ..., not ...'],
  ['connect to http://10.0.0.5:8000/health: refused', 'connect to ... refused'],
  [
    'start with --model Qwen/Qwen3-0.6B and/or --training lora',
    'start with --model Qwen/Qwen3-0.6B and/or --training lora',
  ],
  ['Redis at redis:6379 has not answered for 12 s', 'Redis at redis:6379 has not answered for 12 s'],
])('%s', (reason, shown) => {
  expect(withoutPlaces(reason)).toBe(shown);
});
