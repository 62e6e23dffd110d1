import { expect, test, vi } from 'vitest';
import type { PolicyVersion } from '../../generation.ts';
import { createUpstreamModels, type ServedModel } from './models.ts';

const digestOf = (version: number) => String(version).repeat(64).slice(0, 64);
const policyOf = (version: number, name = 'default'): PolicyVersion => ({
  version,
  adapter: { name, folder: `/data/checkpoints/${name}/${version}-abc`, digest: digestOf(version) },
});
const nameOf = (version: number, name = 'default') =>
  `clawloop-${name}-v${version}-${digestOf(version).slice(0, 8)}`;

type Asked = { readonly kept?: number; readonly mapping?: { readonly from: string; readonly to: string } };

/** A server's table of adapters, and the calls that it received. */
function world({ kept = 0, mapping }: Asked = {}, there: readonly ServedModel[] = []) {
  const table = new Map<string, string>(there.map(({ id, root }) => [id, root ?? '']));
  const done: string[] = [];
  const handed = new Set<string>();
  const based: string[] = [];
  let served = 'base';
  let gate: Promise<void> | undefined;
  let failures = 0;
  const failed: string[] = [];
  const models = createUpstreamModels({
    calls: {
      list: async () => [
        { id: served, root: `/models/${served}`, parent: null },
        ...[...table].map(([id, root]) => ({ id, root, parent: 'base' })),
      ],
      load: async (name, folder) => {
        await gate;
        if (failures-- > 0) throw new Error('out of memory');
        table.set(name, folder);
        done.push(`+${name}`);
      },
      unload: async (name) => {
        table.delete(name);
        done.push(`-${name}`);
      },
    },
    base: undefined,
    adapters: ['default', 'bob'],
    folderOf: (adapter) => `/data/adapters/${adapter}`,
    mapping,
    handOver: async ({ version }, folder) => {
      if (version === 99) throw new Error('its digest differs');
      handed.add(folder);
    },
    takeBack: async (folder) => {
      handed.delete(folder);
    },
    kept,
    onBase: (path) => based.push(path),
    onUnloadFailure: (name) => failed.push(name),
  });
  return {
    models,
    table,
    done,
    handed,
    based,
    serveOther: (name: string) => {
      served = name;
    },
    block: (until: Promise<void>) => {
      gate = until;
    },
    fail: (times: number) => {
      failures = times;
    },
  };
}

test('version 0 is the base model, under its name on the server', async () => {
  const { models, done } = world();
  expect((await models.lease({ version: 0 })).model).toBe('base');
  expect(done).toEqual([]);
});

test('a server that returns with another base model is refused as version 0', async () => {
  const { models, based, serveOther } = world();
  const lease = await models.lease({ version: 0 });
  serveOther('other');
  lease.lost();
  await expect(models.lease({ version: 0 })).rejects.toThrow(
    'it now serves /models/other instead of /models/base',
  );
  serveOther('base');
  expect((await models.lease({ version: 0 })).model).toBe('base');
  expect(based).toEqual(['/models/base']);
});

test('a version is loaded once for concurrent leases and unloaded after the last', async () => {
  const { models, done, handed } = world();
  const [one, other] = await Promise.all([models.lease(policyOf(1)), models.lease(policyOf(1))]);
  expect(one.model).toBe(nameOf(1));
  one.release();
  one.release(); // a second release has no effect
  await new Promise(setImmediate);
  expect([...handed]).toEqual([`/data/adapters/default/${nameOf(1)}`]);
  expect(done).toEqual([`+${nameOf(1)}`]);
  other.release();
  await vi.waitFor(() => expect(done).toEqual([`+${nameOf(1)}`, `-${nameOf(1)}`]));
  expect(handed.size).toBe(0);
});

test('the live version and kept versions stay loaded', async () => {
  const { models, table } = world({ kept: 1 });
  for (const version of [1, 2, 3, 4]) {
    (await models.lease(policyOf(version))).release();
    models.keepLive('default', version);
  }
  await vi.waitFor(() => expect([...table.keys()]).toEqual([nameOf(3), nameOf(4)]));
  models.keepLive('default', 3); // rolled back
  expect([...table.keys()]).toEqual([nameOf(3), nameOf(4)]);
  expect(models.loaded()).toEqual([nameOf(3), nameOf(4)]);
});

test('each adapter has its own names, folder and live version', async () => {
  const { models, table, handed, done } = world();
  for (const name of ['default', 'bob']) (await models.lease(policyOf(1, name))).release();
  await vi.waitFor(() => expect(table.size).toBe(0)); // none is live yet
  for (const name of ['default', 'bob']) {
    models.keepLive(name, 1);
    (await models.lease(policyOf(1, name))).release();
  }
  expect([...handed]).toEqual(['default', 'bob'].map((name) => `/data/adapters/${name}/${nameOf(1, name)}`));
  models.keepLive('bob', 0);
  await vi.waitFor(() => expect(models.loaded()).toEqual([nameOf(1)]));
  await vi.waitFor(() => expect(done.at(-1)).toBe(`-${nameOf(1, 'bob')}`));
});

test('a version needed again while it is unloaded is loaded again afterwards', async () => {
  const { models, done } = world();
  (await models.lease(policyOf(1))).release();
  const again = await models.lease(policyOf(1));
  expect(done.at(-1)).toBe(`+${nameOf(1)}`);
  again.release();
});

test('a failed load or a wrong checkpoint rejects all leases and can be retried', async () => {
  const { models, fail, table } = world();
  fail(1);
  const both = await Promise.allSettled([models.lease(policyOf(1)), models.lease(policyOf(1))]);
  expect(both.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  expect((await models.lease(policyOf(1))).model).toBe(nameOf(1));
  await expect(models.lease(policyOf(99))).rejects.toThrow(/digest/);
  expect([...table.keys()]).toEqual([nameOf(1)]);
});

test('a lost name is loaded again once, however many leases report it', async () => {
  const { models, table, done } = world();
  models.keepLive('default', 1);
  const holders = await Promise.all([1, 2, 3].map(() => models.lease(policyOf(1))));
  table.clear();
  for (const holder of holders) {
    holder.lost();
    holder.release();
  }
  await Promise.all(holders.map(() => models.lease(policyOf(1))));
  expect(done).toEqual([`+${nameOf(1)}`, `+${nameOf(1)}`]);
  table.clear();
  await models.recheck();
  await models.lease(policyOf(1));
  expect(done).toHaveLength(3);
});

test('a version loaded during a recheck stays known and is unloaded normally', async () => {
  const { models, block, done } = world();
  const gate = Promise.withResolvers<void>();
  models.keepLive('default', 0);
  block(gate.promise);
  const leased = models.lease(policyOf(1));
  await models.recheck();
  expect(models.loaded()).toEqual([nameOf(1)]);
  gate.resolve();
  (await leased).release();
  await vi.waitFor(() => expect(done).toEqual([`+${nameOf(1)}`, `-${nameOf(1)}`]));
});

test('names in use are those that the server lists and those that are loading, which nothing else does meanwhile', async () => {
  const { models, block, table, done } = world({}, [{ id: 'clawloop-other-v1-0123abcd' }]);
  const gate = Promise.withResolvers<void>();
  block(gate.promise);
  const leased = models.lease(policyOf(1));
  const seen: string[] = [];
  const looked = models.withNames(async (names) => {
    seen.push(...names, ...done);
  });
  expect(seen).toEqual([]);
  gate.resolve();
  await Promise.all([leased, looked]);
  expect(seen.toSorted()).toEqual(
    ['base', 'clawloop-other-v1-0123abcd', nameOf(1), `+${nameOf(1)}`].toSorted(),
  );
  table.clear();
  await models.withNames(async (names) => expect(names).toContain(nameOf(1)));
});

test('adapters of an earlier process are adopted; those of others are left alone', async () => {
  const root = (version: number) => `/data/adapters/default/${nameOf(version)}`;
  const { models, done, table } = world({}, [
    { id: nameOf(1), root: root(1) },
    { id: nameOf(2), root: root(2) },
    { id: nameOf(3), root: `/somebody/else/${nameOf(3)}` },
    { id: 'clawloop-other-v1-00000000', root: '/data/adapters/other/clawloop-other-v1-00000000' },
    { id: 'their-own', root: '/adapters/own' },
  ]);
  const lease = await models.lease(policyOf(2));
  models.keepLive('default', 2);
  lease.release();
  await vi.waitFor(() => expect(done).toEqual([`-${nameOf(1)}`]));
  expect(table.size).toBe(4);
});

test('only paths below the mapped folder are translated for the server', async () => {
  const { models, table } = world({ mapping: { from: '/data', to: '/mnt/data/' } });
  await models.lease(policyOf(1));
  expect(table.get(nameOf(1))).toBe(`/mnt/data/adapters/default/${nameOf(1)}`);
  const other = world({ mapping: { from: '/dat', to: '/mnt' } });
  await other.models.lease(policyOf(1));
  expect(other.table.get(nameOf(1))).toBe(`/data/adapters/default/${nameOf(1)}`);
});
