import { expect, test } from 'vitest';
import { checkTaste } from './taste.ts';

test.each([
  ['Pack socks, a coat and a book.', true],
  ['Hello! Pack socks.', false],
  ['Pack:\n- socks\n- a coat', false],
  ['1. socks\n2. a coat', false],
  ['Hi there! Here is a list:\n1) socks', false],
  ['It takes 2. Not more.', true],
  ['Highland cows are calm.', true],
  ['', false],
])('%j meets the taste: %s', (answer, met) => {
  expect(checkTaste(answer).met).toBe(met);
});
