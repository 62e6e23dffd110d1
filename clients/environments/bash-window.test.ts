import { expect, test } from 'vitest';
import { createWindow, keptTurns, type Turn } from './bash-window.ts';

const turn = (number: number): Turn => [
  { role: 'assistant', content: `answer ${number}` },
  { role: 'user', content: `result ${number} ${'x'.repeat(200)}` },
];
const opening = [{ role: 'user', content: 'the task' }] as const;
const wordsOf = (window: ReturnType<typeof createWindow>) =>
  window.messages().map(({ content }) => content?.split(' x')[0]);

test('without a limit everything stays', () => {
  const window = createWindow(opening, undefined);
  for (let number = 0; number < 50; number++) window.add(turn(number));
  expect(window.messages()).toHaveLength(101);
});

test('a full window keeps its opening, first and last turns, and says how many are missing', () => {
  const window = createWindow(opening, 800);
  const seen: number[] = [];
  for (let number = 0; number < 40; number++) {
    window.add(turn(number));
    const messages = window.messages();
    expect(JSON.stringify(messages).length / 4).toBeLessThanOrEqual(810);
    expect(messages[0]).toEqual(opening[0]);
    expect(messages.at(-1)).toEqual(turn(number)[1]);
    const gap = messages.find(({ content }) => content?.includes('left out'));
    const missing = Number(/\[(\d+)/.exec(gap?.content ?? '')?.[1] ?? 0);
    expect((messages.length - 1 - (gap ? 1 : 0)) / 2 + missing).toBe(number + 1);
    seen.push(missing);
  }
  const words = wordsOf(window);
  expect(words[1]).toBe('answer 0');
  // few cuts: between two of them, requests share their prefix
  expect(new Set(seen).size).toBeLessThan(10);
});

test('the size of a token is measured', () => {
  const window = createWindow(opening, 800);
  window.measured(1); // the opening counts as one token, so that nothing is ever full
  for (let number = 0; number < 40; number++) window.add(turn(number));
  expect(window.messages()).toHaveLength(81);
});

test('the first 30 % and the last 70 % of the room are kept by whole turns', () => {
  expect(keptTurns([10, 10, 10, 10, 10, 10, 10, 10, 10, 10], 70, undefined)).toEqual({ head: 2, tail: 5 });
  expect(keptTurns([10, 10, 10, 10], 40, [20])).toEqual({ head: 0, tail: 2 });
  expect(keptTurns([100, 100, 500], 50, undefined)).toEqual({ head: 0, tail: 1 });
});
