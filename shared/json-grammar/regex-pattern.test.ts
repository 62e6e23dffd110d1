import { expect, test } from 'vitest';
import { createRandom } from '../policy/model/random.ts';
import { createMatcher, type MatchState } from './matcher.ts';
import { withoutDeadEnds } from './pattern.ts';
import { regexPattern } from './regex-pattern.ts';
import { anyText } from './testing/random-schemas.ts';
import { matchesWhole } from './testing/read-text.ts';

const matcherOf = (source: string, isWhole: boolean) =>
  createMatcher(withoutDeadEnds(regexPattern(source, isWhole))!);

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
])('%s matches the same texts as RegExp', (source) => {
  const random = createRandom(source);
  const codePoints = ['a', 'b', 'c', 'x', 'y', '1', '_', '-', ' ', '\n', '😀', '😁', '/', '.', '$'];
  const pick = () => codePoints[Math.floor(random() * codePoints.length)]!;
  for (const isWhole of [true, false]) {
    const matcher = matcherOf(source, isWhole);
    const expression = new RegExp(isWhole ? `^(?:${source})$` : source, 'u');
    const texts = Array.from({ length: 400 }, (_, at) =>
      at % 2 === 0 ? anyText(matcher, random, 60) : Array.from({ length: at % 7 }, pick).join(''),
    );
    for (const text of texts) {
      if (text === undefined) continue;
      expect(matchesWhole(matcher, text), JSON.stringify(text)).toBe(expression.test(text));
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
  ['a{20000}', 'repeats more than'],
  [`a{${'9'.repeat(30)}}`, 'repeats more than'],
  ['x'.repeat(5_000), 'longer'],
  ['('.repeat(60) + ')'.repeat(60), 'too deep'],
])('%s is refused', (source, why) => {
  expect(() => regexPattern(source, true)).toThrow(
    expect.objectContaining({ name: 'GrammarError', reason: expect.stringContaining(why) }),
  );
});

test('an expression that is too costly is refused, even in the middle of a text', () => {
  const matcher = matcherOf('(a{1,100}){1,100}(a|aa)*b', true);
  let state: MatchState | undefined = matcher.start;
  expect(() => {
    for (let count = 0; count < 10_000; count++) state = matcher.next(state!, 0x61);
  }).toThrow('too');
});
