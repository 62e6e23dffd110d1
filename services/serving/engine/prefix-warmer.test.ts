import { expect, test } from 'vitest';
import { createPrefixWarmer } from './prefix-warmer.ts';
import type { LoadedVersion } from './versions.ts';

/** A decoder that reads two tokens at once, and whether something of it is held. */
function version(room = 1000) {
  const held = new Map<number, number>();
  const read: number[] = [];
  const owners: (string | undefined)[] = [];
  const decoder = {
    hasRoom: (tokens: number) => tokens <= room,
    begin: (ids: readonly number[], owner?: string) => {
      owners.push(owner);
      held.set(0, ids.length);
      return 0;
    },
    read: (slot: number) => {
      const left = held.get(slot)! - 2;
      held.set(slot, left);
      read.push(left);
      return left > 0 ? undefined : { logits: new Float32Array(), cachedTokens: 0 };
    },
    release: (slot: number) => held.delete(slot),
  };
  return { loaded: { version: 1, decoder } as unknown as LoadedVersion, held, read, owners };
}
const prompt = (length: number) => ({ promptIds: Array<number>(length).fill(1), cacheSalt: 'ann' });

test('prompts are read piece by piece, one after the other, and nothing stays held', async () => {
  const warmer = createPrefixWarmer(100, () => 0);
  const { loaded, held, read, owners } = version(5);
  const done = warmer.warm(loaded, [prompt(4), prompt(9), prompt(3)]);
  while (warmer.isActive()) warmer.goOn(true);
  await done;
  expect(read).toEqual([2, 0, 1, -1]); // the second has no room
  expect(owners).toEqual(['ann', 'ann']);
  expect(held.size).toBe(0);
});

test('it ends when its time is over, when others need the room, and when another version comes', async () => {
  let now = 0;
  const warmer = createPrefixWarmer(100, () => now);
  const { loaded, held } = version();
  const late = warmer.warm(loaded, [prompt(100)]);
  warmer.goOn(true);
  expect([held.size, warmer.giveUpPlace(), held.size, warmer.giveUpPlace()]).toEqual([1, true, 0, false]);
  await late;
  const slow = warmer.warm(loaded, [prompt(100)]);
  warmer.goOn(true);
  now = 101;
  warmer.goOn(false);
  await slow;
  expect(held.size).toBe(0);
  const first = warmer.warm(loaded, [prompt(100)]);
  warmer.goOn(true);
  const second = warmer.warm(loaded, [prompt(2)]);
  await first;
  warmer.goOn(true);
  warmer.goOn(true);
  await second;
  expect([held.size, warmer.isActive()]).toEqual([0, false]);
  await warmer.warm(loaded, []);
});

test('a decoder that fails keeps no version from being served', async () => {
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
  warmer.goOn(true);
  await done;
});
