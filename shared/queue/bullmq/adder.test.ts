import { expect, test, vi } from 'vitest';
import type { Job } from '../job-queue.ts';
import { createAdder } from './adder.ts';

const jobs = (...ids: string[]): Job<string>[] => ids.map((id) => ({ id, data: id }));
const ids = (batch: readonly Job<string>[]) => batch.map(({ id }) => id);

test('jobs added during a batch form the next one, each id once', async () => {
  const sent: string[][] = [];
  let arrive = () => {};
  const send = (batch: readonly Job<string>[]) => {
    sent.push(ids(batch));
    return new Promise<void>((resolve) => {
      arrive = resolve;
    });
  };
  const { add } = createAdder(send, () => {});
  await add([]); // an empty batch does not block the next batch
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

test('many jobs are sent in batches of a thousand', async () => {
  const sizes: number[] = [];
  const { add } = createAdder(
    async (batch: readonly Job<string>[]) => sizes.push(batch.length),
    () => {},
  );
  await add(jobs(...Array.from({ length: 2500 }, (_, index) => String(index))));
  expect(sizes).toEqual([1000, 1000, 500]);
});

test('a failing batch is retried, then reported and dropped; later ones are sent', async () => {
  let tries = 0;
  const send = async (batch: readonly Job<string>[]) => {
    if (!ids(batch).includes('bad')) return;
    tries += 1;
    throw new Error('refused');
  };
  const errors: string[] = [];
  const { add } = createAdder(send, ({ message }) => errors.push(message));
  await add(jobs('bad'));
  expect(tries).toBe(3);
  expect(errors).toEqual(['refused']);
  await add(jobs('good'));
  expect(tries).toBe(3);
});

test('once closed it sends nothing and releases its callers', async () => {
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
