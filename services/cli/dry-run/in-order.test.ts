import { expect, test } from 'vitest';
import { inOrder } from './in-order.ts';

const printedFrom = (read: readonly string[]) => {
  const printed: string[] = [];
  const stages = inOrder(({ name }) => printed.push(name));
  for (const name of read) stages.print({ name, result: '' });
  const before = [...printed];
  stages.rest();
  return { before, all: printed };
};

test('a stage that is read early waits for the stage before it', () => {
  const read = ['request', 'batch', 'sample', 'answer', 'turn', 'vote', 'judgment', 'step'];
  const inOrderOfLoop = ['request', 'answer', 'turn', 'vote', 'judgment', 'sample', 'batch', 'step'];
  expect(printedFrom(read)).toEqual({ before: inOrderOfLoop, all: inOrderOfLoop });
});

test('a stage whose cause never comes is printed at the end', () => {
  expect(printedFrom(['answer', 'turn', 'judgment'])).toEqual({
    before: ['answer', 'turn'],
    all: ['answer', 'turn', 'judgment'],
  });
});
