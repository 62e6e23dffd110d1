import { expect, test } from 'vitest';
import { newAccessKey } from './access-keys.ts';
import { createKeyEntries, entriesOfRemoval, entryOfKey } from './key-entries.ts';

const at = '2030-01-01T00:00:00.000Z';
const { key } = newAccessKey('ann', { adapter: 'work', requestsPerMinute: 5 });

type Entry = ReturnType<typeof entryOfKey>;

/** What compaction leaves: the last entry of each name, in order. */
const compacted = (entries: readonly Entry[]): readonly Entry[] =>
  entries.filter(({ name }, index) => !entries.slice(index + 1).some((later) => later.name === name));

const idsAfter = (entries: readonly Entry[]): readonly string[] => {
  const known = createKeyEntries();
  entries.forEach(known.apply);
  return known.list().map(({ id }) => id);
};

test('a removed key stays removed, even if a host adds it again later', () => {
  const [added, removal] = [entryOfKey(key), entriesOfRemoval(key.id, at)];
  for (const entries of [
    [added, ...removal],
    [...removal, added],
    [added, ...removal, added],
    [added, removal[0]!, added, removal[1]!],
  ]) {
    expect(idsAfter(entries)).toEqual([]);
    expect(idsAfter(compacted(entries))).toEqual([]);
    expect(idsAfter([...entries, ...entries])).toEqual([]);
  }
  const known = createKeyEntries();
  removal.forEach(known.apply);
  expect(known.knows(key.id)).toBe(true);
  expect(idsAfter([added])).toEqual([key.id]);
});

test('only a removal ends a key: an empty value, which follows one, does not', () => {
  expect(idsAfter([entryOfKey(key), entriesOfRemoval(key.id, at)[1]!])).toEqual([key.id]);
});

test.each([
  ['no JSON', '{broken'],
  ['a rule of a later version', JSON.stringify({ ...key, onlyAtNight: true })],
  ['the key of another id', JSON.stringify({ ...key, id: 'key-00000000' })],
])('a key with %s opens nothing, but still counts as a key', (_, value) => {
  const known = createKeyEntries();
  known.apply({ name: `key/${key.id}`, value });
  const [listed] = known.list();
  expect(listed).toMatchObject({ id: key.id, sha256: '0'.repeat(64) });
  expect(Date.parse(listed!.expiresAt!)).toBeLessThan(Date.parse(at));
});

test('entries of other names change nothing', () => {
  const known = createKeyEntries();
  const before = known.list();
  known.apply({ name: 'other/x', value: '{}' });
  expect(known.list()).toBe(before);
});
