import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createStopMatcher } from './stop-strings.ts';

function run(stops: readonly string[], parts: readonly string[]) {
  const matcher = createStopMatcher(stops);
  const results = parts.map((part) => matcher.push(part));
  return {
    shown: results.map(({ text }) => text),
    stop: results.find(({ stop }) => stop !== undefined)?.stop,
    rest: matcher.flush(),
  };
}

test('a stop string across several parts is found and not shown', () => {
  const parts = ['Hello\nU', 'se', 'r:', ' more', ' text'];
  expect(run(['\nUser:'], parts)).toEqual({ shown: ['Hello', '', '', '', ''], stop: '\nUser:', rest: '' });
});

test('only a possible start of a stop string is delayed, and shown if it does not match', () => {
  expect(run(['END'], ['an E', 'N', 'D'])).toMatchObject({ shown: ['an ', '', ''], stop: 'END' });
  expect(run(['END'], ['an E', 'N', 'E', 'x'])).toEqual({
    shown: ['an ', '', 'EN', 'Ex'],
    stop: undefined,
    rest: '',
  });
  expect(run(['END'], ['an EN'])).toEqual({ shown: ['an '], stop: undefined, rest: 'EN' });
});

test('without stop strings, or with empty ones, no text is delayed', () => {
  expect(run([], ['a', 'b'])).toEqual({ shown: ['a', 'b'], stop: undefined, rest: '' });
  expect(run([''], ['a', 'b'])).toEqual({ shown: ['a', 'b'], stop: undefined, rest: '' });
});

test('the stop string that is complete first wins, however the text is split', () => {
  const letters = fc.string({ unit: fc.constantFrom('a', 'b', 'c'), maxLength: 12 });
  const stopList = fc.array(fc.string({ unit: fc.constantFrom('a', 'b', 'c'), minLength: 1, maxLength: 4 }), {
    maxLength: 3,
  });
  fc.assert(
    fc.property(stopList, fc.array(letters, { maxLength: 6 }), (stops, parts) => {
      const text = parts.join('');
      const ends = Array.from({ length: text.length + 1 }, (_, end) => text.slice(0, end));
      const first = ends.find((start) => stops.some((stop) => start.endsWith(stop)));
      const stop = stops.filter((each) => first?.endsWith(each)).sort((a, b) => b.length - a.length)[0];
      const shown = stop === undefined ? text : first!.slice(0, first!.length - stop.length);
      const actual = run(stops, parts);
      expect(actual.shown.join('') + actual.rest).toBe(shown);
      expect(actual.stop).toBe(stop);
    }),
    { seed: 11, numRuns: 2000 },
  );
});
