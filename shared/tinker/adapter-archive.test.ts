import { gzipSync } from 'node:zlib';
import { packTar } from 'modern-tar';
import { expect, test } from 'vitest';
import { readAdapterArchive } from './adapter-archive.ts';

const file = (name: string, body = 'x', type: 'file' | 'symlink' = 'file') => ({
  header: {
    name,
    size: type === 'file' ? body.length : 0,
    type,
    ...(type === 'symlink' && { linkname: '/etc/passwd' }),
  },
  ...(type === 'file' && { body }),
});
const config = file('adapter_config.json', '{}');
const weights = file('adapter_model.safetensors', 'numbers');
const textsOf = async (archive: Uint8Array) =>
  Object.fromEntries(
    [...(await readAdapterArchive(archive))].map(([name, bytes]) => [name, Buffer.from(bytes).toString()]),
  );
const whole = { 'adapter_config.json': '{}', 'adapter_model.safetensors': 'numbers' };

test('a tar and a tar.gz are read, with or without a folder', async () => {
  const tar = await packTar([config, weights, file('README.md')]);
  expect(await textsOf(tar)).toEqual(whole);
  expect(await textsOf(gzipSync(tar))).toEqual(whole);
  const nested = await packTar([
    file('./out/adapter_config.json', '{}'),
    file('./out/adapter_model.safetensors', 'numbers'),
  ]);
  expect(await textsOf(nested)).toEqual(whole);
});

test('a name that leads out of a folder stays a plain name, and a link is no file', async () => {
  const climbing = await packTar([file('../../adapter_config.json', '{}'), weights, file('../../.ssh/id')]);
  expect(await textsOf(climbing)).toEqual(whole);
  const linked = await packTar([file('adapter_config.json', '', 'symlink'), weights]);
  await expect(readAdapterArchive(linked)).rejects.toThrow('adapter_config.json is missing');
});

test.each([
  ['nothing', async () => new Uint8Array()],
  ['no archive', async () => Buffer.from('<html>'.repeat(400))],
  ['one that is cut short', async () => (await packTar([config, weights])).subarray(0, 1400)],
  ['a damaged gzip', async () => gzipSync(await packTar([config, weights])).subarray(0, 60)],
  ['one without weights', async () => packTar([config])],
  ['an empty file', async () => packTar([config, file('adapter_model.safetensors', '')])],
  ['a name twice', async () => packTar([config, weights, config])],
])('%s is refused', async (_, make) => {
  await expect(readAdapterArchive(await make())).rejects.toMatchObject({ code: 'bad_adapter' });
});

test('an archive that unpacks to more than the limit is refused', async () => {
  const tar = await packTar([config, file('adapter_model.safetensors', 'x'.repeat(1e6))]);
  await expect(readAdapterArchive(gzipSync(tar), 1e5)).rejects.toMatchObject({ code: 'bad_adapter' });
});
