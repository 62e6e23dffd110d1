import { expect, test } from 'vitest';
import { closeReasoning, withoutReasoning } from './reasoning.ts';

test.each([
  ['Hello!', 'Hello!'],
  ['<think>\nA greeting?\n</think>\n\nHello!', 'Hello!'],
  ['\n<think>\n\n</think>\n\nHello!', 'Hello!'],
  ['A greeting?\n</think>\n\nHello!', 'Hello!'], // the prompt opened it
  ['<think>\nA greeting? It', ''],
  ['Write <think> and </think> around it.', 'Write <think> and </think> around it.'],
])('the answer %j is %j without its reasoning', (answer, without) => {
  expect(withoutReasoning(answer)).toBe(without);
});

test('an open reasoning at the end of a prompt is closed', () => {
  expect(closeReasoning('assistant\n<think>\n')).toBe('assistant\n<think>\n</think>\n\n');
  expect(closeReasoning('assistant\n')).toBe('assistant\n');
});
