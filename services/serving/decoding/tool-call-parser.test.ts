import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createToolCallParser } from './tool-call-parser.ts';

function parse(parts: readonly string[]) {
  const parser = createToolCallParser();
  const pieces = [...parts.map((part) => parser.push(part)), parser.flush()];
  return {
    text: pieces.map(({ text }) => text).join(''),
    calls: pieces.flatMap(({ toolCalls }) => toolCalls.map((call) => call.function)),
  };
}
const cut = (text: string, at: readonly number[]): readonly string[] => {
  const points = [0, ...at.map((point) => point % (text.length + 1)).sort((a, b) => a - b), text.length];
  return points.slice(1).map((end, index) => text.slice(points[index], end));
};

const answer =
  'Let me look.\n<tool_call>\n{"name": "exec", "arguments": {"cmd": "ls <tool_call>"}}\n</tool_call>' +
  '<tool_call>{"name":"read","arguments":"{}"}</tool_call> done <tool_ <tool_call>oops</tool_call><tool_call>{"na';

test('calls are extracted and other text is kept, wherever the stream is cut', () => {
  const whole = parse([answer]);
  expect(whole).toEqual({
    text: 'Let me look.\n done <tool_ <tool_call>oops</tool_call><tool_call>{"na',
    calls: [
      { name: 'exec', arguments: '{"cmd": "ls <tool_call>"}' },
      { name: 'read', arguments: '{}' },
    ],
  });
  fc.assert(
    fc.property(fc.array(fc.nat(), { maxLength: 12 }), (at) => {
      expect(parse(cut(answer, at))).toEqual(whole);
    }),
    { seed: 1 },
  );
});

test('text is withheld only while it may begin a call', () => {
  const parser = createToolCallParser();
  expect(parser.push('a < b <tool').text).toBe('a < b ');
  expect(parser.push('s>').text).toBe('<tools>');
});

test('the parts of the arguments arrive as written and add up to the call', () => {
  const parser = createToolCallParser();
  const head = parser.push('<tool_call>{"name": "exec", "arguments": ');
  expect(head).toEqual({ text: '', toolCalls: [] });
  const pieces = ['{"cmd": "l', 's", "n"', ': [1, 2]}', '}\n</tool', '_call> done'].map(parser.push);
  const parts = pieces.flatMap(({ callParts = [] }) => callParts);
  const [call] = pieces.flatMap(({ toolCalls }) => toolCalls);
  expect(parts[0]).toMatchObject({ id: call!.id, name: 'exec' });
  expect(
    pieces.slice(0, 3).map(({ callParts }) => callParts?.map((part) => part.arguments).join('')),
  ).toEqual(['{"cmd": "l', 's", "n"', ': [1, 2]}']);
  expect(pieces[2]!.toolCalls).toHaveLength(1);
  expect(call!.function.arguments).toBe('{"cmd": "ls", "n": [1, 2]}');
  expect(pieces.map(({ text }) => text).join('')).toBe(' done');
});

test('a call whose arguments break off or stop being JSON has its partial arguments', () => {
  expect(parse(['<tool_call>{"name": "a", "arguments": {"b": 1'])).toEqual({
    text: '',
    calls: [{ name: 'a', arguments: '{"b": 1' }],
  });
  expect(parse(['<tool_call>{"name": "a", "arguments": {"b" oops'])).toEqual({
    text: 'oops',
    calls: [{ name: 'a', arguments: '{"b" ' }],
  });
});
