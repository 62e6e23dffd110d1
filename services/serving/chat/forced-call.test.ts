import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createCallGuard, createForcedCallParser, forcedCall } from './forced-call.ts';

/** Whether each of the pieces is accepted, up to the first that is not. */
const guarded = (names: readonly string[], pieces: readonly string[]): readonly boolean[] => {
  const guard = createCallGuard(forcedCall('tagged', names));
  const accepted: boolean[] = [];
  for (const piece of pieces) {
    accepted.push(guard.accepts(piece));
    if (!accepted.at(-1)) break;
    guard.take(piece);
  }
  return accepted;
};

test('what the prompt begins and the guard lets through is a call, in both forms', () => {
  const one = forcedCall('tagged', ['get "x"']);
  expect(one.beginning).toBe('<tool_call>\n{"name": "get \\"x\\"", "arguments":');
  expect(forcedCall('tagged', ['a', 'ab']).beginning).toBe('<tool_call>\n{"name":');
  expect(forcedCall('bare', ['a']).beginning).toBe('{"name": "a", "parameters":');
  expect(guarded(['a'], [' {"', 'b', '": 1', '}}', '\n'])).toEqual([true, true, true, true, true]);
  expect(guarded(['a', 'ab'], [' "a', 'b", "arguments":', ' {', '}'])).toEqual([true, true, true, true]);
});

test.each([
  ['a name of no tool', ['a', 'b'], [' "c']],
  ['arguments that are no object', ['a'], [' [']],
  ['what is no JSON', ['a'], ['{"b": ', 'oops']],
  ['nothing', ['a'], ['']],
  ['white space for ever', ['a'], [' ', ' ']],
  ['more after the call', ['a'], ['{}', ' and']],
] as const)('%s is not let through', (_about, names, pieces) => {
  expect(guarded(names, pieces).at(-1)).toBe(false);
});

test('the call is told in parts that add up to it, wherever they are cut, and ends the answer', () => {
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

test('a call that is cut off is the call as far as it came, and no call without its name', () => {
  const parser = createForcedCallParser(forcedCall('bare', ['a']));
  parser.push(' {"b": ');
  expect(parser.flush().toolCalls).toMatchObject([{ function: { name: 'a', arguments: '{"b": ' } }]);
  const nameless = createForcedCallParser(forcedCall('bare', ['a', 'b']));
  nameless.push(' "');
  expect(nameless.flush().toolCalls).toEqual([]);
});

test('a letter that no name goes on with costs the same for a thousand tools as for ten', () => {
  const timeOf = (tools: number): number => {
    const names = Array.from({ length: tools }, (_, at) => `tool_${at}`);
    const guard = createCallGuard(forcedCall('tagged', names));
    const { user } = process.cpuUsage();
    for (let count = 0; count < 100_000; count++) guard.accepts(count % 2 === 0 ? 'x' : '"tool_x');
    return process.cpuUsage().user - user;
  };
  timeOf(10);
  expect(timeOf(1_000) / timeOf(10)).toBeLessThan(10);
});
