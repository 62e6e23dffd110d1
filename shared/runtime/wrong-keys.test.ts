import { expect, test } from 'vitest';
import { createWrongKeys } from './wrong-keys.ts';

const minute = 60_000;

function keys() {
  let time = 0;
  const waits: number[] = [];
  const wrong = createWrongKeys(
    () => time,
    async (ms) => waits.push(ms),
  );
  const refuse = async (address: string, times = 1) => {
    waits.length = 0;
    for (let each = 0; each < times; each++) await wrong.refuse(address);
    return [...waits];
  };
  return { refuse, pass: (ms: number) => (time += ms) };
}

test('a few wrong keys are refused immediately, further ones with growing delays', async () => {
  const { refuse, pass } = keys();
  expect(await refuse('1.2.3.4', 5)).toEqual([]);
  expect(await refuse('1.2.3.4', 7)).toEqual([100, 200, 400, 800, 1600, 2000, 2000]);
  expect(await refuse('1.2.3.5', 5)).toEqual([]);
  pass(11 * minute);
  expect(await refuse('1.2.3.4', 5)).toEqual([]);
});

test('addresses of one IPv6 network count together', async () => {
  const { refuse } = keys();
  expect(await refuse('2001:db8:1:2:3::1', 5)).toEqual([]);
  expect(await refuse('2001:db8:1:2:9::9')).toEqual([100]);
  expect(await refuse('2001:db8:1:3:3::1')).toEqual([]);
  expect(await refuse('::ffff:1.2.3.4', 5)).toEqual([]);
  expect(await refuse('::ffff:1.2.3.5')).toEqual([]);
});

test('remembered addresses and delayed refusals are bounded', async () => {
  const { refuse } = keys();
  await refuse('0.0.0.1', 6);
  for (let each = 0; each < 10_000; each++) await refuse(`10.0.${each >> 8}.${each & 255}`);
  expect(await refuse('0.0.0.1')).toEqual([]); // forgotten
  const gate = Promise.withResolvers<void>();
  let waiting = 0;
  const full = createWrongKeys(
    () => 0,
    () => {
      waiting += 1;
      return gate.promise;
    },
  );
  const all = Array.from({ length: 2_000 }, () => full.refuse('1.2.3.4'));
  await all.at(-1);
  expect(waiting).toBe(1_000);
  gate.resolve();
  await Promise.all(all);
});
