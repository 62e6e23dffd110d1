import fc from 'fast-check';
import { expect, test } from 'vitest';
import { matchesWhole } from '../../../shared/json-grammar/testing/read-text.ts';
import { callMatcher } from './call-matcher.ts';
import { createForcedCallParser, forcedCall } from './forced-call.ts';
import { createTokenGuard, type TokenGuard } from './token-guard.ts';

/** A guard of calls of these tools, whose tokens are the pieces: the id of a token is its index. */
function callGuard(names: readonly string[], pieces: readonly string[]): TokenGuard {
  const tokenizer = { bytesOf: (id: number) => Buffer.from(pieces[id]!), vocabularySize: pieces.length };
  const tools = [...forcedCall('tagged', names).heads].map(([, written]) => ({ written }));
  return createTokenGuard({ tokenizer, endTokenIds: new Set() }, callMatcher({ tools }));
}

/** Whether each of the pieces is accepted, up to the first that is not. */
const guarded = (names: readonly string[], pieces: readonly string[]): readonly boolean[] => {
  const guard = callGuard(names, pieces);
  const accepted: boolean[] = [];
  for (const id of pieces.keys()) {
    accepted.push(guard.accepts(id));
    if (!accepted.at(-1)) break;
    guard.take(id);
  }
  return accepted;
};

test('the beginning in the prompt and the accepted tokens form a call, in both forms', () => {
  const quoted = forcedCall('tagged', ['get "x"']);
  expect(quoted.beginning).toBe('<tool_call>\n{"name": "get \\"x\\"", "arguments":');
  expect(forcedCall('tagged', ['a', 'ab']).beginning).toBe('<tool_call>\n{"name":');
  expect(forcedCall('bare', ['a']).beginning).toBe('{"name": "a", "parameters":');
  expect(guarded(['a'], [' {"', 'b', '": 1', '}}', '\n'])).toEqual([true, true, true, true, true]);
  expect(guarded(['a', 'ab'], [' "a', 'b", "arguments":', ' {', '}'])).toEqual([true, true, true, true]);
});

test.each([
  ['an unknown tool name', ['a', 'b'], [' "c']],
  ['an array of arguments', ['a'], [' [']],
  ['invalid JSON', ['a'], ['{"b": ', 'oops']],
  ['an empty token', ['a'], ['']],
  ['endless white space', ['a'], [' ', ' ']],
  ['text after the call', ['a'], ['{}', ' and']],
] as const)('%s is not accepted', (_about, names, pieces) => {
  expect(guarded(names, pieces).at(-1)).toBe(false);
});

test('the parts of a call add up to it wherever they are cut, and the call ends the answer', () => {
  const written = ' "ab", "arguments": {"x": "} {", "y": [1]}}\n';
  fc.assert(
    fc.property(fc.array(fc.nat(written.length), { maxLength: 6 }), (cuts) => {
      const parser = createForcedCallParser(forcedCall('tagged', ['a', 'ab']));
      const points = [0, ...cuts.toSorted((one, other) => one - other), written.length];
      const pieces = points.slice(1).map((end, index) => parser.push(written.slice(points[index], end)));
      const parts = pieces.flatMap(({ callParts = [] }) => callParts);
      const calls = [...pieces, parser.flush()].flatMap(({ toolCalls }) => toolCalls);
      expect(calls).toHaveLength(1);
      expect(calls[0]).toMatchObject({ function: { name: 'ab', arguments: '{"x": "} {", "y": [1]}' } });
      expect(parts.map((part) => part.arguments).join('')).toBe('{"x": "} {", "y": [1]}');
      expect(parts.filter(({ name }) => name !== undefined)).toHaveLength(1);
      expect(pieces.some(({ ends }) => ends)).toBe(true);
    }),
    { seed: 1 },
  );
});

test('a truncated call has its partial arguments; without a name it is not a call', () => {
  const parser = createForcedCallParser(forcedCall('bare', ['a']));
  parser.push(' {"b": ');
  expect(parser.flush().toolCalls).toMatchObject([{ function: { name: 'a', arguments: '{"b": ' } }]);
  const nameless = createForcedCallParser(forcedCall('bare', ['a', 'b']));
  nameless.push(' "');
  expect(nameless.flush().toolCalls).toEqual([]);
});

test('refusing a character in the name costs the same for a thousand tools as for ten', () => {
  const timeOf = (tools: number): number => {
    const names = Array.from({ length: tools }, (_, at) => `tool_${at}`);
    const guard = callGuard(names, ['x', '"tool_x']);
    const { user } = process.cpuUsage();
    for (let count = 0; count < 100_000; count++) guard.accepts(count % 2);
    return process.cpuUsage().user - user;
  };
  timeOf(10);
  expect(timeOf(1_000) / timeOf(10)).toBeLessThan(10);
});

test('all names of thousands of tools are accepted, whether or not a tool has a schema', () => {
  const schema = { type: 'object', properties: { a: { type: 'integer' } }, required: ['a'] };
  const named = [
    ...forcedCall(
      'tagged',
      Array.from({ length: 8_000 }, (_, at) => `tool_${at}`),
    ).heads,
  ];
  const tools = named.map(([, written], at) => ({
    written,
    ...(at % 1_000 === 0 && { parameters: schema }),
  }));
  const matcher = callMatcher({ tools });
  expect(matchesWhole(matcher, ' "tool_7999", "arguments": {"any": 1}')).toBe(true);
  expect(matchesWhole(matcher, ' "tool_7000", "arguments": {"a": 1}')).toBe(true);
  expect(matchesWhole(matcher, ' "tool_7000", "arguments": {"any": 1}')).toBe(false);
  expect(matchesWhole(matcher, ' "tool_8000", "arguments": {}')).toBe(false);
});
