import { expect, test } from 'vitest';
import { createPrefixWarmer } from './prefix-warmer.ts';
import type { LoadedVersion } from './versions.ts';

/** A decoder that reads two tokens at once, with its slots in use. */
function version(room = 1000) {
  const slots = new Map<number, number>();
  const read: number[] = [];
  const owners: (string | undefined)[] = [];
  const decoder = {
    hasRoom: (tokens: number) => tokens <= room,
    begin: (ids: readonly number[], owner?: string) => {
      owners.push(owner);
      slots.set(0, ids.length);
      return 0;
    },
    read: (slot: number) => {
      const left = slots.get(slot)! - 2;
      slots.set(slot, left);
      read.push(left);
      return left > 0 ? undefined : { logits: new Float32Array(), cachedTokens: 0 };
    },
    release: (slot: number) => slots.delete(slot),
  };
  return { loaded: { version: 1, decoder } as unknown as LoadedVersion, slots, read, owners };
}
const prompt = (length: number) => ({ promptIds: Array<number>(length).fill(1), cacheSalt: 'ann' });

test('prompts are read piece by piece, one after the other, and their slots are released', async () => {
  const warmer = createPrefixWarmer(100, () => 0);
  const { loaded, slots, read, owners } = version(5);
  const done = warmer.warm(loaded, [prompt(4), prompt(9), prompt(3)]);
  while (warmer.isActive()) warmer.advance(true);
  await done;
  expect(read).toEqual([2, 0, 1, -1]); // the second has no room
  expect(owners).toEqual(['ann', 'ann']);
  expect(slots.size).toBe(0);
});

test('it ends at the time limit, when an answer needs the room, and for another version', async () => {
  let now = 0;
  const warmer = createPrefixWarmer(100, () => now);
  const { loaded, slots } = version();
  const late = warmer.warm(loaded, [prompt(100)]);
  warmer.advance(true);
  expect([slots.size, warmer.freeSlot(), slots.size, warmer.freeSlot()]).toEqual([1, true, 0, false]);
  await late;
  const slow = warmer.warm(loaded, [prompt(100)]);
  warmer.advance(true);
  now = 101;
  warmer.advance(false);
  await slow;
  expect(slots.size).toBe(0);
  const first = warmer.warm(loaded, [prompt(100)]);
  warmer.advance(true);
  const second = warmer.warm(loaded, [prompt(2)]);
  await first;
  warmer.advance(true);
  warmer.advance(true);
  await second;
  expect([slots.size, warmer.isActive()]).toEqual([0, false]);
  await warmer.warm(loaded, []);
});

test('a failing decoder does not keep a version from being served', async () => {
  const warmer = createPrefixWarmer(100, () => 0);
  const { loaded } = version();
  const broken = {
    ...loaded,
    decoder: {
      ...loaded.decoder,
      read: () => {
        throw new Error('broken');
      },
    },
  };
  const done = warmer.warm(broken, [prompt(4)]);
  warmer.advance(true);
  await done;
});
