import { expect, test } from 'vitest';
import { CheckpointDamaged, type CheckpointStore } from '../../shared/policy/checkpoints/checkpoint-store.ts';
import { content, nameOf } from '../../shared/policy/checkpoints/testing/checkpoint-content.ts';
import { modelFolder } from '../../shared/policy/model/model-folder.ts';

/** One store, as two hosts see it. */
export type Harness = {
  readonly one: CheckpointStore;
  readonly other: CheckpointStore;
  /** Changes a byte of a checkpoint's weights, where it is stored for all hosts. */
  readonly damage: (name: string) => Promise<void>;
};

export const commitTo = (store: CheckpointStore, version: number, changes = {}) =>
  store.commit(nameOf(version), content(version, changes), modelFolder('claw-nano'));

const namesOf = async (store: CheckpointStore) => (await store.list()).map(({ name }) => name);

/** What every store of checkpoints must do. */
export function checkpointStoreContract(open: () => Harness): void {
  test('what a host commits, the other reads bit by bit', async () => {
    const { one, other } = open();
    expect(await other.list()).toEqual([]);
    const { won, checkpoint } = await commitTo(one, 1);
    expect(won).toBe(true);
    expect(await other.has(nameOf(1))).toBe(true);
    expect(await other.has(nameOf(2))).toBe(false);
    const read = await other.read(nameOf(1));
    expect(read.state).toEqual(checkpoint.state);
    expect(read.optimizer).toEqual(checkpoint.optimizer);
    expect(new Map(read.adapter.tensors)).toEqual(checkpoint.adapter.tensors);
    expect(await other.list()).toEqual([{ name: nameOf(1), state: checkpoint.state }]);
  });

  test('of two hosts the first wins, and the other gets its checkpoint', async () => {
    const { one, other } = open();
    const both = await Promise.all([commitTo(one, 1, { fill: 1 }), commitTo(other, 1, { fill: 2 })]);
    expect(both.map(({ won }) => won).toSorted()).toEqual([false, true]);
    const [winner, loser] = both.toSorted((a, b) => Number(b.won) - Number(a.won));
    expect(loser!.checkpoint.state.digest).toBe(winner!.checkpoint.state.digest);
    for (const store of [one, other])
      expect((await store.read(nameOf(1))).state.digest).toBe(winner!.checkpoint.state.digest);
  });

  test('a commit that comes again gets the checkpoint of the first', async () => {
    const { one } = open();
    await commitTo(one, 1, { fill: 1 });
    const again = await commitTo(one, 1, { fill: 2 });
    expect(again.won).toBe(false);
    expect(again.checkpoint.state.digest).toBe(content(1, { fill: 1 }).state.digest);
  });

  test('changed bytes are refused by a host that has no copy', async () => {
    const { one, other, damage } = open();
    await commitTo(one, 1);
    await damage(nameOf(1));
    await expect(other.read(nameOf(1))).rejects.toThrow(CheckpointDamaged);
  });

  test('a checkpoint of the same number is set aside, and a commit of its name is possible again', async () => {
    const { one, other } = open();
    await commitTo(one, 1);
    await commitTo(one, 2);
    expect(await one.setAside(nameOf(2), { foreign: false })).toEqual([]);
    expect(await one.setAside(nameOf(2), { foreign: true })).toHaveLength(1);
    expect(await namesOf(other)).toEqual([nameOf(1)]);
    expect((await commitTo(one, 2, { fill: 9 })).won).toBe(true);
    expect((await other.read(nameOf(2))).state.digest).toBe(content(2, { fill: 9 }).state.digest);
  });

  test('the retention rule removes checkpoints, unless what they have elsewhere cannot be removed', async () => {
    const { one, other } = open();
    for (const version of [1, 2, 3, 4]) await commitTo(one, version);
    const retention = { keep: 2, lineage: [4, 3, 0], openParent: undefined, settled: 4 };
    await expect(one.prune(retention, () => Promise.reject(new Error('away')))).rejects.toThrow('away');
    expect(await namesOf(other)).toHaveLength(4);
    const released: string[] = [];
    await one.prune(
      retention,
      async (pruned) => void released.push(...pruned.released.map(({ name }) => name)),
    );
    expect(released).toEqual([nameOf(1), nameOf(2)]);
    expect(await namesOf(other)).toEqual([nameOf(3), nameOf(4)]);
    expect(await other.has(nameOf(1))).toBe(false);
    expect(await one.prune(retention)).toEqual([]);
  });

  test('what was set aside is removed by size, the oldest first, and nothing else', async () => {
    const { one, other } = open();
    await commitTo(one, 1);
    for (const fill of [7, 8]) {
      await commitTo(one, 2, { fill });
      await one.setAside(nameOf(2), { foreign: true });
    }
    await commitTo(one, 2);
    const limit = { maxAgeMs: Number.POSITIVE_INFINITY, maxBytes: Number.POSITIVE_INFINITY };
    expect(await other.removeAside(limit)).toEqual([]);
    const [gone, ...more] = await other.removeAside({ ...limit, maxBytes: 0 });
    expect(gone).toMatchObject({ reason: 'size' });
    expect(more.length).toBeGreaterThan(0);
    expect([gone!, ...more].every(({ bytes }) => bytes > 100)).toBe(true);
    expect(await other.removeAside({ ...limit, maxBytes: 0 })).toEqual([]);
    expect(await namesOf(other)).toEqual([nameOf(1), nameOf(2)]);
    expect((await other.read(nameOf(2))).state.digest).toBe(content(2).state.digest);
  });

  test('an empty place is a new store, but not when the log has versions', async () => {
    const { one, other } = open();
    expect(await one.problem(true)).toMatch(/is empty/);
    expect(await one.isPresent()).toBe(false);
    expect(await one.problem(false)).toBeUndefined();
    expect(await other.problem(true)).toBeUndefined();
    expect(await other.isPresent()).toBe(true);
  });

  test('attempts at a step are counted, and forgotten when it is settled', async () => {
    const { one } = open();
    const attempt = await one.attempts(nameOf(1)).begin();
    await attempt.fail('out of memory');
    expect(await one.attempts(nameOf(1)).strikes()).toEqual({ count: 1, errors: ['out of memory'] });
    await one.attempts(nameOf(1)).clear();
    expect((await one.attempts(nameOf(1)).strikes()).count).toBe(0);
  });
}
