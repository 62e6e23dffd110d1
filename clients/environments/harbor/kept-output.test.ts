import { expect, test } from 'vitest';
import { keepOutput } from './kept-output.ts';

test('short output stays as it is', () => {
  const output = keepOutput(10);
  for (const part of ['ab', '', 'cdefgh']) output.add(Buffer.from(part));
  expect(output.text()).toBe('abcdefgh');
});

test('of long output the beginning and the end stay, for any split into parts', () => {
  const text = Array.from({ length: 500 }, (_, index) => `line ${index}\n`).join('');
  for (const size of [1, 7, 100, 10_000]) {
    const output = keepOutput(40);
    for (let at = 0; at < text.length; at += size) output.add(Buffer.from(text.slice(at, at + size)));
    expect(output.bytes()).toBe(text.length);
    expect(output.text()).toBe(
      `${text.slice(0, 20)}\n[... ${text.length - 40} bytes left out ...]\n${text.slice(-20)}`,
    );
  }
});
