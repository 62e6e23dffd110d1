import { expect, test } from 'vitest';
import { createBareCallParser } from './bare-call-parser.ts';
import { onlyFirstCall } from './call-filters.ts';
import { createToolCallParser } from './tool-call-parser.ts';

const namesIn = (pieces: readonly ReturnType<ReturnType<typeof onlyFirstCall>['push']>[]) =>
  pieces.flatMap(({ toolCalls }) => toolCalls.map((call) => call.function.name));

test('the answer ends where a second call begins, in one piece or in several', () => {
  const call = (name: string) => `<tool_call>{"name": "${name}", "arguments": {}}</tool_call>`;
  const whole = onlyFirstCall(createToolCallParser());
  const pieces = [whole.push(`Well. ${call('a')} and ${call('b')} more`), whole.push('text'), whole.flush()];
  expect(namesIn(pieces)).toEqual(['a']);
  expect(pieces.map(({ ends }) => ends)).toEqual([true, true, true]);
  const cut = onlyFirstCall(createToolCallParser());
  const parts = [call('a'), ' and ', '<tool_call>{"name": "b", "arguments": '].map(cut.push);
  expect(parts.map(({ ends }) => ends)).toEqual([undefined, undefined, undefined]);
  expect(cut.push('{')).toEqual({ text: '', toolCalls: [], ends: true });
});

test('the first of several calls that arrive at the end is kept', () => {
  const parser = onlyFirstCall(createBareCallParser(['a', 'b']));
  parser.push('{"name": "a", "parameters": {}}; {"name": "b", "parameters": {}}');
  expect(namesIn([parser.flush()])).toEqual(['a']);
});
