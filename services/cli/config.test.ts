import { afterEach, expect, test, vi } from 'vitest';
import { bucketFlags, commandFlags, endpointSettings, environmentWith } from './config.ts';

afterEach(() => void vi.unstubAllEnvs());

test('a service gets huge pages for its weights, unless the environment sets the allocator itself', () => {
  vi.stubEnv('GLIBC_TUNABLES', undefined);
  expect(environmentWith({ KEY: 'k' })).toMatchObject({
    GLIBC_TUNABLES: 'glibc.malloc.hugetlb=1',
    KEY: 'k',
  });
  vi.stubEnv('GLIBC_TUNABLES', 'glibc.malloc.check=1');
  expect(environmentWith({}).GLIBC_TUNABLES).toBe('glibc.malloc.check=1');
});

test('of the common flags, commands take those for the data folder and the log', () => {
  const shared = ['--data-folder', '/d', '--model', 'claw-nano', '--log', 'kafka', '--backend', 'wasm'];
  expect(commandFlags(shared)).toEqual(['--data-folder', '/d', '--log', 'kafka']);
});

test('the export of sessions takes from the trainer how to reach a bucket', () => {
  const trainer = ['--s3-endpoint', 'http://s', '--learning-rate', '0.1', '--s3-secret-access-key', 's'];
  expect(bucketFlags(trainer)).toEqual(['--s3-endpoint', 'http://s', '--s3-secret-access-key', 's']);
});

test('a client sends the access key of the environment as it is, whatever its form', () => {
  for (const key of ['', 'short', 'sk-sess-of-a-session']) {
    vi.stubEnv('CLAWLOOP_SERVING_API_KEY', key);
    expect(endpointSettings([])).toMatchObject({ apiKey: key, port: 8700 });
  }
});
