import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createBareCallParser } from './bare-call-parser.ts';

function parse(parts: readonly string[]) {
  const parser = createBareCallParser(['get_weather', 'read']);
  const pieces = [...parts.map((part) => parser.push(part)), parser.flush()];
  return {
    text: pieces.map(({ text }) => text).join(''),
    calls: pieces.flatMap(({ toolCalls }) => toolCalls.map((call) => call.function)),
  };
}
const weather = '{"name": "get_weather", "parameters": {"city": "Paris; {"}}';
const read = '{"type": "function", "name": "read", "parameters": {"path": "a\\"}"}}';

test('an answer of calls is parsed wherever the stream is cut', () => {
  for (const answer of [weather, `\n${weather}; ${read}`, `${read}\n${weather}\n`, `${weather}${weather}`]) {
    const whole = parse([answer]);
    expect(whole.text).toBe('');
    expect(whole.calls.length).toBe(answer === weather ? 1 : 2);
    fc.assert(
      fc.property(fc.nat(answer.length), fc.nat(answer.length), (one, other) => {
        const [a, b] = [Math.min(one, other), Math.max(one, other)];
        expect(parse([answer.slice(0, a), answer.slice(a, b), answer.slice(b)])).toEqual(whole);
      }),
      { seed: 2, numRuns: 40 },
    );
  }
  expect(parse([weather]).calls).toEqual([{ name: 'get_weather', arguments: '{"city":"Paris; {"}' }]);
});

test('anything else stays text, and is shown as soon as that is certain', () => {
  for (const answer of [
    'It is sunny.',
    '{"city": "Paris"}',
    `Sure: ${weather}`,
    `${weather} is what I would call`,
    '{"name": "get_weather", "parameters": ',
    '{"name": "unknown", "parameters": {}}',
    '{"name": 7, "parameters": {}}',
  ]) {
    expect(parse([...answer])).toEqual({ text: answer, calls: [] });
  }
  const parser = createBareCallParser(['read']);
  expect(parser.push('{"na').text).toBe('');
  expect(parser.push('tion": "France"').text).toBe('{"nation": "France"');
  expect(parser.push(', ...').text).toBe(', ...');
});
