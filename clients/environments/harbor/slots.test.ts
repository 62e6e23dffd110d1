import { expect, test } from 'vitest';
import { createSlots } from './slots.ts';

const never = new AbortController().signal;

test('no more than the given number are inside, and they enter in order', async () => {
  const slots = createSlots(2);
  const inside: number[] = [];
  const enter = async (number: number) => {
    const leave = await slots.enter(never);
    inside.push(number);
    return leave;
  };
  const [first, second, third, fourth] = [enter(1), enter(2), enter(3), enter(4)];
  const leaveFirst = await first!;
  await second;
  expect(inside).toEqual([1, 2]);
  leaveFirst();
  leaveFirst(); // a slot is given back once
  await third;
  expect(inside).toEqual([1, 2, 3]);
  (await second!)();
  await fourth;
});

test('an aborted wait takes no slot', async () => {
  const slots = createSlots(1);
  const leave = await slots.enter(never);
  const stop = new AbortController();
  const given = slots.enter(stop.signal);
  const next = slots.enter(never);
  stop.abort(new Error('stopped'));
  await expect(given).rejects.toThrow('stopped');
  leave();
  (await next)();
  await slots.enter(never);
});
