import { afterEach, expect, test, vi } from 'vitest';
import { commandFlags, environmentWith } from './config.ts';

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

test('of flags for all services commands take those that say where the log is', () => {
  const shared = ['--data-folder', '/d', '--model', 'claw-nano', '--log', 'kafka', '--backend', 'wasm'];
  expect(commandFlags(shared)).toEqual(['--data-folder', '/d', '--log', 'kafka']);
});
