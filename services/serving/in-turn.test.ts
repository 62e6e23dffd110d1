import { expect, test } from 'vitest';
import { createInTurn } from './in-turn.ts';

test('works of one name wait for each other, in their order, also past one that fails; others do not', async () => {
  const inTurn = createInTurn();
  const told: string[] = [];
  const gate = Promise.withResolvers<void>();
  const work =
    (name: string, wait: Promise<void> | undefined, fails = false) =>
    async () => {
      told.push(`${name} begins`);
      await wait;
      told.push(`${name} ends`);
      if (fails) throw new Error(name);
      return name;
    };
  const first = inTurn('a', work('1', gate.promise, true));
  const second = inTurn('a', work('2', undefined));
  await inTurn('b', work('other', undefined));
  expect(told).toEqual(['1 begins', 'other begins', 'other ends']);
  gate.resolve();
  await expect(first).rejects.toThrow('1');
  expect(await second).toBe('2');
  expect(told.slice(3)).toEqual(['1 ends', '2 begins', '2 ends']);
});
