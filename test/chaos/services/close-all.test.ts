import { expect, test } from 'vitest';
import { closeAll } from './close-all.ts';

test('an error in closing one part does not stop the others from closing', async () => {
  const closed: string[] = [];
  const closing = (name: string, fails: boolean) => async () => {
    closed.push(name);
    if (fails) throw new Error(`${name} hangs`);
  };
  await expect(closeAll([closing('a', false), closing('b', true), closing('c', false)])).rejects.toThrow(
    'b hangs',
  );
  expect(closed).toEqual(['c', 'b', 'a']);
  await expect(closeAll([closing('d', true), closing('e', true)])).rejects.toThrow(
    'Error: e hangs; Error: d hangs',
  );
  await closeAll([closing('f', false)]);
});
