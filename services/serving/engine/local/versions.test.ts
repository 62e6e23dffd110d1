import { expect, test } from 'vitest';
import type { Adapter } from '../../../../shared/policy/model/policy.ts';
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
        hasRoom: () => true,
        canStep: () => true,
        release: () => {},
        dispose: () => {},
      };
    },
  });
  return { versions, adapters };
}

test('a version that cannot be loaded leaves nothing in memory and can be retried', async () => {
  const { versions, adapters } = world({ failures: 1 });
  const both = await Promise.allSettled([versions.retain({ version: 1 }), versions.retain({ version: 1 })]);
  expect(both.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  expect([versions.inMemory(), adapters.size]).toEqual([[], 0]);
  expect((await versions.retain({ version: 1 })).version).toBe(1);
  expect([versions.inMemory(), [...adapters]]).toEqual([['base@v1'], [1]]);
});

test('unused versions are freed, the longest unused first; used versions stay', async () => {
  const { versions, adapters } = world({ kept: 1 });
  const retained = await Promise.all([1, 2, 3].map((version) => versions.retain({ version })));
  for (const which of [1, 0]) versions.release(retained[which]!);
  await Promise.resolve();
  expect(versions.inMemory()).toEqual(['base@v2', 'base@v3']);
  expect([...adapters]).toEqual([2, 3]);
});

test('adapters share only the base', async () => {
  const { versions } = world();
  const of = (name: string) => ({ version: 1, adapter: { name, folder: '', digest: '' } });
  const [alice, bob, again] = await Promise.all(
    ['alice', 'bob', 'alice'].map((name) => versions.retain(of(name))),
  );
  expect(alice!.decoder).not.toBe(bob!.decoder);
  expect(again).toBe(alice);
  expect(await versions.retain({ version: 0 })).toBe(await versions.retain({ version: 0 }));
  expect(versions.inMemory()).toEqual(['alice@v1', 'base@v0', 'bob@v1']);
  versions.retainAgain(bob!);
  versions.release(bob!);
  expect(versions.inMemory()).toContain('bob@v1');
  versions.release(bob!);
  expect(versions.inMemory()).toEqual(['alice@v1', 'base@v0']);
});
