import fc from 'fast-check';
import { expect, test } from 'vitest';
import { opensReasoning } from '../../../shared/policy/text/reasoning.ts';
import { createReasoningParser } from './reasoning-parser.ts';

function parse(parts: readonly string[], inside = false) {
  const parser = createReasoningParser(inside);
  const pieces = [...parts.map((part) => parser.push(part)), parser.flush()];
  return {
    text: pieces.map(({ text }) => text).join(''),
    reasoning: pieces.map(({ reasoning }) => reasoning).join(''),
  };
}

test.each([
  ['<think>\nWell, 1 < 2.\n\nSo </thin.\n</think>\n\nYes.\n', false, 'Well, 1 < 2.\n\nSo </thin.', 'Yes.\n'],
  ['\n<think></think>\n\nYes.', false, '', 'Yes.'],
  ['Well.\n</think>\n\nYes, <think>.', true, 'Well.', 'Yes, <think>.'],
  ['No <think>that</think> here', false, '', 'No <think>that</think> here'],
  ['<thinking> aloud', false, '', '<thinking> aloud'],
  ['<think>cut short </th', false, 'cut short </th', ''],
  ['<thi', false, '', '<thi'],
])('%j', (answer, inside, reasoning, text) => {
  expect(parse([answer], inside)).toEqual({ reasoning, text });
  expect(parse([...answer], inside)).toEqual({ reasoning, text });
  fc.assert(
    fc.property(fc.nat(answer.length), (at) => {
      expect(parse([answer.slice(0, at), answer.slice(at)], inside)).toEqual({ reasoning, text });
    }),
    { seed: 1 },
  );
});

test('text is withheld only while it may become a mark', () => {
  const parser = createReasoningParser(false);
  expect(parser.push('<').text).toBe('');
  expect(parser.push('a').text).toBe('<a');
  const thinking = createReasoningParser(true);
  expect(thinking.push('a </t').reasoning).toBe('a ');
  expect(thinking.push('o').reasoning).toBe('</to');
});

test('the prompt may have opened the reasoning', () => {
  expect(opensReasoning('<|im_start|>assistant\n<think>\n')).toBe(true);
  expect(opensReasoning('<think>\n\n</think>\n\n')).toBe(false);
});
