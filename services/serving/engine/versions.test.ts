import { expect, test } from 'vitest';
import type { Adapter } from '../../../shared/policy/policy.ts';
import { createVersions } from './versions.ts';

function world({ kept = 0, failures = 0 } = {}) {
  const adapters = new Set<number>();
  let left = failures;
  const versions = createVersions({
    kept,
    loadAdapter: async ({ version }) => {
      adapters.add(version);
      const adapter: Partial<Adapter> = { dispose: () => void adapters.delete(version) };
      return adapter as Adapter;
    },
    createDecoder: () => {
      if (left-- > 0) throw new Error('out of memory');
      return {
        begin: () => 0,
        read: () => undefined,
        step: () => [],
        ...{ hasRoom: () => true, canStep: () => true },
        ...{ release: () => {}, dispose: () => {} },
      };
    },
  });
  return { versions, adapters };
}

test('a version that cannot be loaded leaves nothing in memory, and may be tried again', async () => {
  const { versions, adapters } = world({ failures: 1 });
  const both = await Promise.allSettled([versions.hold({ version: 1 }), versions.hold({ version: 1 })]);
  expect(both.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  expect([versions.inMemory(), adapters.size]).toEqual([[], 0]);
  expect((await versions.hold({ version: 1 })).version).toBe(1);
  expect([versions.inMemory(), [...adapters]]).toEqual([[1], [1]]);
});

test('what nobody holds goes, the longest unused first; what is held stays', async () => {
  const { versions, adapters } = world({ kept: 1 });
  for (const version of [1, 2, 3]) await versions.hold({ version });
  for (const version of [2, 1]) versions.letGo(version);
  await Promise.resolve();
  expect(versions.inMemory()).toEqual([2, 3]);
  expect([...adapters]).toEqual([2, 3]);
});
