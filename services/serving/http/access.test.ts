import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { ServingConfig } from '../../../shared/config/serving.ts';
import { createAccessKey, readAccessKeys, removeAccessKey } from '../../../shared/runtime/access-keys.ts';
import { isLoopback } from '../../../shared/runtime/is-loopback.ts';
import { openFileKeys } from '../../../shared/runtime/key-store.ts';
import { CONFIGURED_KEY, NO_KEY } from '../../../shared/runtime/known-keys.ts';
import { type AccessOptions, openAccess as openAny } from './access.ts';
import { newSessionKey, writeSessionKey } from './session-key.ts';

const sessionSecret = Buffer.alloc(32, 7);
const openAccess = ({ path, ...options }: Omit<AccessOptions, 'sessionSecret' | 'keys'> & { path: string }) =>
  openAny({ ...options, keys: openFileKeys(path), sessionSecret });

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'clawloop-access-'));
});
afterEach(() => rm(folder, { recursive: true }));

test('no key is required until the first key exists', async () => {
  const path = join(folder, 'keys.json');
  const access = openAccess({ path, configured: undefined, always: false });
  expect(await access.callerOf(undefined)).toEqual({ keyId: NO_KEY, limits: {} });
  const { id, secret } = await createAccessKey(path, 'ann');
  expect(await access.callerOf(undefined)).toBeUndefined();
  expect(await access.callerOf('Bearer wrong')).toBeUndefined();
  expect(await access.callerOf(secret)).toBeUndefined();
  expect(await access.callerOf(`bearer ${secret}`)).toEqual({ keyId: id, limits: {} });
  expect(await readFile(path, 'utf8')).not.toContain(secret);
});

test('the configured key works beside those of the key file', async () => {
  const path = join(folder, 'keys.json');
  const { id, secret } = await createAccessKey(path, 'ann');
  const access = openAccess({ path, configured: 'configured-secret', always: true });
  expect(await access.callerOf('Bearer configured-secret')).toEqual({ keyId: CONFIGURED_KEY, limits: {} });
  expect(await access.callerOf(`Bearer ${secret}`)).toEqual({ keyId: id, limits: {} });
});

test('beyond loopback a key is always required, even after the last one is removed', async () => {
  const access = openAccess({ path: join(folder, 'keys.json'), configured: undefined, always: true });
  expect(await access.hasKey()).toBe(false);
  expect(await access.needsKey()).toBe(true);
  expect(await access.callerOf(undefined)).toBeUndefined();
});

test('a removed key stops working immediately; the others still work', async () => {
  const path = join(folder, 'keys.json');
  const access = openAccess({ path, configured: undefined, always: false });
  const [ann, bob] = [await createAccessKey(path, 'ann'), await createAccessKey(path, 'bob')];
  expect(await access.callerOf(`Bearer ${ann.secret}`)).toMatchObject({ keyId: ann.id });
  expect(await removeAccessKey(path, ann.id)).toBe(true);
  expect(await removeAccessKey(path, ann.id)).toBe(false);
  expect(await access.callerOf(`Bearer ${ann.secret}`)).toBeUndefined();
  expect(await access.callerOf(`Bearer ${bob.secret}`)).toMatchObject({ keyId: bob.id });
});

test('a key has its limits and adapter; an unreadable key is never written', async () => {
  const path = join(folder, 'keys.json');
  const access = openAccess({ path, configured: undefined, always: false });
  const rules = { requestsPerMinute: 5, tokensPerDay: 1000, adapter: 'work' };
  const { id, secret } = await createAccessKey(path, 'ann', rules);
  expect(await access.callerOf(`Bearer ${secret}`)).toEqual({
    keyId: id,
    adapter: 'work',
    limits: { requestsPerMinute: 5, tokensPerDay: 1000 },
  });
  await expect(createAccessKey(path, 'bob', { tokensPerMinute: 0 })).rejects.toThrow();
  expect(await readAccessKeys(path)).toHaveLength(1);
});

test.each(['{"keys": 5}', '{broken', ''])('a key file with %j refuses all requests', async (text) => {
  const path = join(folder, 'keys.json');
  await writeFile(path, text);
  const access = openAccess({ path, configured: undefined, always: false });
  const unreadable = { status: 503, name: 'KEYS_UNREADABLE', cause: { name: 'Refusal' } };
  await expect(access.callerOf(undefined)).rejects.toMatchObject(unreadable);
  await expect(access.needsKey()).rejects.toMatchObject(unreadable);
  await expect(access.hasKey()).rejects.toThrow(`${path} is not a list of access keys`);
  const { secret } = await rm(path).then(() => createAccessKey(path, 'ann'));
  expect(await access.callerOf(`Bearer ${secret}`)).toBeDefined();
});

test('loopback addresses are those that never leave the machine', () => {
  for (const host of ['127.0.0.1', '127.9.9.9', '::1', '[::1]', 'localhost', 'LOCALHOST', 'app.localhost'])
    expect(isLoopback(host), host).toBe(true);
  for (const host of [
    '0.0.0.0',
    '::',
    '192.168.1.4',
    'example.com',
    '127.0.0.1.example.com',
    'localhost.example.com',
    '',
  ])
    expect(isLoopback(host), host).toBe(false);
});

test('a session key works like its access key, until that is removed or the secret changes', async () => {
  const path = join(folder, 'keys.json');
  const access = openAccess({ path, configured: undefined, always: false });
  const ofNobody = newSessionKey(NO_KEY);
  expect(await access.callerOf(`Bearer ${access.writeSessionKey(ofNobody)}`)).toEqual({
    keyId: NO_KEY,
    limits: {},
    sessionKey: ofNobody.id,
  });
  // Callers without a key are accepted, but a key that is sent must be valid.
  expect(await access.callerOf('Bearer sk-sess-abc')).toBeUndefined();
  const { id } = await createAccessKey(path, 'ann', { requestsPerMinute: 5 });
  expect(await access.callerOf(`Bearer ${access.writeSessionKey(ofNobody)}`)).toBeUndefined();
  const key = newSessionKey(id);
  const written = access.writeSessionKey(key);
  expect(access.readSessionKey(written)).toEqual(key);
  expect(await access.callerOf(`Bearer ${written}`)).toMatchObject({
    keyId: id,
    limits: { requestsPerMinute: 5 },
    sessionKey: key.id,
  });
  const forged = writeSessionKey(key, Buffer.alloc(32, 8));
  expect(await access.callerOf(`Bearer ${forged}`)).toBeUndefined();
  await removeAccessKey(path, id);
  expect(await access.callerOf(`Bearer ${written}`)).toBeUndefined();
});

test('an access key with the form of a session key is refused', () => {
  const fits = (apiKey: string) => ServingConfig.shape.apiKey.safeParse(apiKey).success;
  expect([fits('sk-sess-mine-alone'), fits('sk-mine-and-mine-alone')]).toEqual([false, true]);
});

test('an expired key and its session keys stop working, and a key is still required', async () => {
  const path = join(folder, 'keys.json');
  const { id, secret } = await createAccessKey(path, 'ann', { expiresAt: '2030-01-01T00:00:00.000Z' });
  let now = Date.parse('2029-12-31T23:59:59Z');
  const access = openAccess({ path, configured: undefined, always: false, now: () => now });
  const session = newSessionKey(id);
  const sessionKey = access.writeSessionKey(session);
  expect(await access.callerOf(`Bearer ${secret}`)).toMatchObject({ keyId: id });
  expect(await access.callerOf(`Bearer ${sessionKey}`)).toMatchObject({ keyId: id, sessionKey: session.id });
  now += 1_000;
  for (const shown of [`Bearer ${secret}`, `Bearer ${sessionKey}`, undefined])
    expect(await access.callerOf(shown)).toBeUndefined();
  expect(await access.needsKey()).toBe(true);
});
