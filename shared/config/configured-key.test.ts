import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { configuredKey, keyOf } from './configured-key.ts';

const key = 'a-key-of-this-test';

test('a configured key is long, has no spaces, and is not a session key', () => {
  expect(configuredKey.parse(key)).toBe(key);
  for (const bad of ['x', 'fifteen-letters', 'a key with spaces in it', 'sk-sess-0123456789abcdef'])
    expect(configuredKey.safeParse(bad).success, bad).toBe(false);
});

test('a key may come from a file', async () => {
  const root = await mkdtemp(join(tmpdir(), 'clawloop-key-file-'));
  onTestFinished(() => rm(root, { recursive: true, force: true }));
  const apiKeyFile = join(root, 'key');
  expect(() => keyOf({ apiKeyFile })).toThrow('cannot read');
  await writeFile(apiKeyFile, `${key}\n`);
  expect(keyOf({ apiKeyFile })).toBe(key);
  expect(() => keyOf({ apiKeyFile, apiKey: key })).toThrow('not both');
  await writeFile(apiKeyFile, 'short');
  expect(() => keyOf({ apiKeyFile })).toThrow('at least 16 characters');
  expect(keyOf({ apiKey: key })).toBe(key);
  expect(keyOf({})).toBeUndefined();
});
