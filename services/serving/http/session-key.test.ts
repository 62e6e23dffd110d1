import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { fingerprintOf, openSessionSecret } from '../sessions/session-secret.ts';
import { isSessionKey, newSessionKey, readSessionKey, writeSessionKey } from './session-key.ts';

const secret = Buffer.alloc(32, 1);

test('the secret is enough to read a session key back, for any access key id', () => {
  for (const keyId of ['local', 'key-1f0c9a2e', '', 'ключ']) {
    const key = newSessionKey(keyId);
    const written = writeSessionKey(key, secret);
    expect(written).toMatch(/^sk-sess-[\w-]+$/);
    expect(isSessionKey(written)).toBe(true);
    expect(readSessionKey(written, secret)).toEqual(key);
    expect(readSessionKey(written, Buffer.alloc(32, 2))).toBeUndefined();
  }
});

test('changing, omitting or adding a character invalidates a session key', () => {
  const written = writeSessionKey(newSessionKey('key-1f0c9a2e'), secret);
  for (let at = 0; at < written.length; at++) {
    const other = written[at] === 'A' ? 'B' : 'A';
    const [before, after] = [written.slice(0, at), written.slice(at + 1)];
    for (const forged of [before + other + after, before + after, `${before}A${written.slice(at)}`])
      if (forged !== written) expect(readSessionKey(forged, secret)).toBeUndefined();
  }
  for (const forged of [`${written}A`, `${written}=`, `${written} `, 'sk-sess-', ''])
    expect(readSessionKey(forged, secret)).toBeUndefined();
});

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'clawloop-secret-'));
});
afterEach(() => rm(folder, { recursive: true }));

test('the secret is created once, even by concurrent processes, and is private', async () => {
  const path = join(folder, 'session-secret');
  const secrets = await Promise.all(Array.from({ length: 20 }, () => openSessionSecret(path, undefined)));
  const [first] = secrets as [Uint8Array];
  expect(first).toHaveLength(32);
  for (const one of [...secrets, await openSessionSecret(path, undefined)]) expect(one).toEqual(first);
  expect((await stat(path)).mode & 0o777).toBe(0o600);
  expect(await readdir(folder)).toEqual(['session-secret']);
});

test('a configured secret needs no file; a file without a secret is refused and kept', async () => {
  const path = join(folder, 'session-secret');
  expect(await openSessionSecret(path, 'of all replicas, 1')).toEqual(Buffer.from('of all replicas, 1'));
  expect(await readdir(folder)).toEqual([]);
  await writeFile(path, 'short\n');
  await expect(openSessionSecret(path, undefined)).rejects.toThrow('contains no valid secret');
  expect(await readFile(path, 'utf8')).toBe('short\n');
});

test('a fingerprint is that of one secret and one log', () => {
  const [one, other] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)];
  expect(fingerprintOf(one, 'log')).toBe(fingerprintOf(Buffer.from(one), 'log'));
  const all = [fingerprintOf(one, 'log'), fingerprintOf(other, 'log'), fingerprintOf(one, 'another')];
  expect(new Set(all).size).toBe(3);
});
