import { expect, test } from 'vitest';
import { wishPhrasesOf } from './named-wishes.ts';
import { compilePhrase, parsePhrases } from './phrase-file.ts';
import { ruleOf } from './rules.ts';

const entriesOf = (...lines: readonly string[]) => parsePhrases('test.txt', lines.join('\n')).entries;

test('pattern lines are joined, names and repetitions are replaced', () => {
  const entries = entriesOf(
    '# greetings',
    'hello =',
    '  {maybe:oh|ah}(?:hi',
    '  |hello)',
    '',
    'greeting +1',
    '  ^{some:so|{maybe:very}well}{hello}\\b',
    '  unless: \\bnot{_}',
  );
  expect(entries).toEqual([
    {
      head: ['greeting', '+1'],
      pattern: '^(?:(?:so|(?:(?:very) )?well) )*(?:(?:oh|ah) )?(?:hi|hello)\\b',
      unless: '\\bnot ',
      at: 'test.txt, line 6',
    },
  ]);
  const [rule] = entries.map(ruleOf);
  expect([rule!.name, rule!.weight]).toEqual(['greeting', 1]);
  expect(rule!.pattern.test('so oh hello')).toBe(true);
});

test('braces of a regular expression are unchanged', () => {
  const [entry] = entriesOf('form - -', '  {some:\\p{L}{2,3}|\\d{4}}\\{a\\}');
  expect(entry!.pattern).toBe('(?:(?:\\p{L}{2,3}|\\d{4}) )*\\{a\\}');
});

test('names of another file can be used', () => {
  const { vocabulary } = parsePhrases('a.txt', 'end =\n  now$');
  expect(parsePhrases('b.txt', 'x -1\n  {end}', vocabulary).entries[0]!.pattern).toBe('now$');
});

test.each([
  [['a -1', '  {b}'], 'test.txt, line 1: {b} is not defined before this line'],
  [['a -1', '  {many:b}'], 'test.txt, line 1: {many: is neither {some: nor {maybe:'],
  [['a -1', '  {some:b'], 'test.txt, line 1: a { without its }'],
  [['a -1', '  {'], 'test.txt, line 1: a { without its }'],
  [['a -1', '  b}'], 'test.txt, line 1: a } without its {'],
  [['', 'a -1'], 'test.txt, line 2: "a -1" has no pattern'],
  [['a -1', '  b', '  unless:'], 'test.txt, line 1: "a -1" has no pattern'],
  [['a =', '  b', 'a =', '  c'], 'test.txt, line 3: {a} is defined twice'],
  [['a =', '  b', '  unless: c'], 'test.txt, line 1: {a} cannot have "unless:"'],
  [['  b'], 'test.txt, line 1: a pattern without a head line'],
  [['a -1', '  b '], 'test.txt, line 2: the line ends with a space'],
])('%j is refused with file and line', (lines, message) => {
  expect(() => entriesOf(...lines)).toThrow(message);
});

test('a rule needs a name, a weight and a regular expression', () => {
  const read = (...lines: readonly string[]) => entriesOf(...lines).map(ruleOf);
  expect(() => read('a -3', '  b')).toThrow('a rule begins with its name and -2, -1, +1 or +2');
  expect(() => read('a', '  b')).toThrow('test.txt, line 1: a rule begins');
  expect(() => read('a -1', '  (b')).toThrow('test.txt, line 1: Invalid regular expression');
  expect(() => compilePhrase('[', 'here')).toThrow('here: Invalid regular expression');
});

test('an entry about wishes needs a known kind and known wishes', () => {
  const read = (...lines: readonly string[]) => wishPhrasesOf(entriesOf(...lines));
  expect(() => read('form list', '  a')).toThrow('test.txt, line 1: expected "form WANTED UNWANTED"');
  expect(() => read('form list none', '  a', 'refuses', '  b', 'asks', '  c')).toThrow('unknown wish "none"');
  expect(() => read('asks', '  c')).toThrow('no entry "refuses"');
  expect(() => read('refuses', '  b', 'refuses', '  c')).toThrow(
    'test.txt, line 3: a second entry "refuses"',
  );
});
