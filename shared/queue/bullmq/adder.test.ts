import { expect, test, vi } from 'vitest';
import type { Job } from '../job-queue.ts';
import { createAdder } from './adder.ts';

const jobs = (...ids: string[]): Job<string>[] => ids.map((id) => ({ id, data: id }));
const ids = (batch: readonly Job<string>[]) => batch.map(({ id }) => id);

test('what is added while a batch is on its way makes up the next one, an id once', async () => {
  const sent: string[][] = [];
  let arrive = () => {};
  const send = (batch: readonly Job<string>[]) => {
    sent.push(ids(batch));
    return new Promise<void>((resolve) => {
      arrive = resolve;
    });
  };
  const { add } = createAdder(send, () => {});
  await add([]); // nothing owed: and nothing is in the way of what is owed next
  const added = [add(jobs('a')), add(jobs('b', 'c')), add(jobs('c', 'b', 'd'))];
  expect(sent).toEqual([['a']]);
  arrive();
  await vi.waitFor(() => expect(sent).toEqual([['a'], ['b', 'c', 'd']]));
  arrive();
  await Promise.all(added);
  const again = add(jobs('a'));
  expect(sent).toHaveLength(3);
  arrive();
  await again;
});

test('many jobs go in batches of a thousand', async () => {
  const sizes: number[] = [];
  const { add } = createAdder(
    async (batch: readonly Job<string>[]) => sizes.push(batch.length),
    () => {},
  );
  await add(jobs(...Array.from({ length: 2500 }, (_, index) => String(index))));
  expect(sizes).toEqual([1000, 1000, 500]);
});

test('a batch that cannot be sent is tried again, then told and let go; those after it are sent', async () => {
  let tries = 0;
  const send = async (batch: readonly Job<string>[]) => {
    if (!ids(batch).includes('bad')) return;
    tries += 1;
    throw new Error('refused');
  };
  const told: string[] = [];
  const { add } = createAdder(send, ({ message }) => told.push(message));
  await add(jobs('bad'));
  expect(tries).toBe(3);
  expect(told).toEqual(['refused']);
  await add(jobs('good'));
  expect(tries).toBe(3);
});

test('once closed it sends nothing, and who waits is let go', async () => {
  let sent = 0;
  const adder = createAdder(
    async () => {
      sent += 1;
      throw new Error('the connection has ended');
    },
    () => {},
  );
  const added = adder.add(jobs('a'));
  adder.close();
  await added;
  await adder.add(jobs('b'));
  expect(sent).toBe(1);
});
