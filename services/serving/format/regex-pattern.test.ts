import { expect, test } from 'vitest';
import { createRandom } from '../../../shared/policy/random.ts';
import { createMatcher, type MatchState } from './matcher.ts';
import { withoutDeadEnds } from './pattern.ts';
import { isFault, regexPattern } from './regex-pattern.ts';
import { anyText } from './test-schemas.ts';

const matcherOf = (source: string, isWhole: boolean) => {
  const pattern = regexPattern(source, isWhole);
  if (isFault(pattern)) throw new Error(pattern.fault);
  return createMatcher(withoutDeadEnds(pattern)!, (why) => new Error(why));
};

test.each([
  'a',
  'a|bc|',
  '(a|b)*c',
  'a{2,3}b?',
  '[a-c]+[^a]',
  '\\d{2}-\\w\\s',
  '(?:ab)+?(?<n>c)',
  'x.y',
  '[\\d_-]{1,2}',
  '^ab$|^b',
  'a$',
  '^[\\u0061-\\x63]',
  '\\/\\.\\$',
  '[^\\s\\S]a|b',
  '(a*)*b',
  '😀{2}|[😀-😂]a',
  'a{0}b',
])('%s matches what it matches elsewhere', (source) => {
  const random = createRandom(source);
  const letters = ['a', 'b', 'c', 'x', 'y', '1', '_', '-', ' ', '\n', '😀', '😁', '/', '.', '$'];
  const pick = () => letters[Math.floor(random() * letters.length)]!;
  for (const isWhole of [true, false]) {
    const matcher = matcherOf(source, isWhole);
    const expression = new RegExp(isWhole ? `^(?:${source})$` : source, 'u');
    const texts = Array.from({ length: 400 }, (_, at) =>
      at % 2 === 0 ? anyText(matcher, random, 60) : Array.from({ length: at % 7 }, pick).join(''),
    );
    for (const text of texts) {
      if (text === undefined) continue;
      let state: MatchState | undefined = matcher.start;
      for (const letter of text) state = state && matcher.next(state, letter.codePointAt(0)!);
      expect(state?.canEnd === true, JSON.stringify(text)).toBe(expression.test(text));
    }
  }
});

test.each([
  ['(', 'Unterminated group'],
  ['a(?=b)', 'look-arounds'],
  ['(?!a)', 'look-arounds'],
  ['(a)\\1', '\\1'],
  ['\\bfoo', '\\b'],
  ['\\p{L}', '\\p'],
  ['a^b', '`^`'],
  ['(a$)', '`$`'],
  ['a{20000}', 'rounds'],
  [`a{${'9'.repeat(30)}}`, 'rounds'],
  ['x'.repeat(5_000), 'longer'],
  ['('.repeat(60) + ')'.repeat(60), 'too deep'],
])('%s is refused', (source, why) => {
  expect(regexPattern(source, true)).toMatchObject({ fault: expect.stringContaining(why) });
});

test('what costs too much is refused, also amid a text', () => {
  const matcher = matcherOf('(a{1,100}){1,100}(a|aa)*b', true);
  let state: MatchState | undefined = matcher.start;
  expect(() => {
    for (let count = 0; count < 10_000; count++) state = matcher.next(state!, 0x61);
  }).toThrow('too');
});
