import { expect, test } from 'vitest';
import { matchesWhole } from '../../../shared/json-grammar/testing/read-text.ts';
import type { AnswerFormat } from '../generation.ts';
import { createFormatMatchers, type PossibleCalls } from './format-matcher.ts';

const matcherOf = createFormatMatchers();
const named: AnswerFormat = {
  kind: 'schema',
  param: 'response_format',
  schema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
};

/** Whether an answer may be this text, as a whole. */
const takes = (text: string, format: AnswerFormat, calls?: PossibleCalls): boolean =>
  matchesWhole(matcherOf(format, calls), text);

test('with tools an answer is the document or a call, in both forms of calls', () => {
  const document = '{"city": "Zurich"}';
  const bare = { form: 'bare', names: ['look', 'go "there"'] } as const;
  expect(takes(document, named, bare)).toBe(true);
  expect(takes('{"name": "look", "parameters": {"x": [1]}}', named, bare)).toBe(true);
  expect(takes('{"name": "go \\"there\\"", "parameters": {}}', named, bare)).toBe(true);
  expect(takes('{"name": "fly", "parameters": {}}', named, bare)).toBe(false);
  expect(takes('{"name": "look", "parameters": []}', named, bare)).toBe(false);
  const tagged = { form: 'tagged', names: ['look'] } as const;
  expect(takes(document, named, tagged)).toBe(true);
  const call = '<tool_call>\n{"name": "look", "arguments": {"x": [1]}}\n</tool_call>';
  expect(takes(call, named, tagged)).toBe(true);
  expect(takes(`${call}\n${call}`, named, tagged)).toBe(true);
  expect(takes('<tool_call> is what to pack', named, tagged)).toBe(false);
  expect(takes(call.replace('look', 'fly'), named, tagged)).toBe(false);
  expect(takes(`${call} so be it`, named, tagged)).toBe(false);
  expect(takes('so <tool_call>', named, tagged)).toBe(false);
  expect(takes('<tool_call>', named)).toBe(false);
});

test('a document begins with at most one space or line break', () => {
  for (const start of ['', ' ', '\n']) expect(takes(`${start}{"city":""}`, named)).toBe(true);
  for (const start of ['  ', '\n ', '\t']) expect(takes(`${start}{"city":""}`, named)).toBe(false);
});

test('grammars are refused, since they need an upstream engine', () => {
  const format: AnswerFormat = { kind: 'grammar', grammar: 'root ::= "a"', param: 'guided_grammar' };
  expect(() => matcherOf(format)).toThrow(expect.objectContaining({ status: 400, param: 'guided_grammar' }));
});

test('a choice that UTF-8 cannot encode is dropped', () => {
  const choices = (...of: string[]): AnswerFormat => ({ kind: 'choice', of, param: 'guided_choice' });
  expect(takes('ok', choices('ok', '\ud800'))).toBe(true);
  expect(matcherOf(choices('ok', '\ud800')).start.places).toHaveLength(1);
  expect(() => matcherOf(choices('\ud800'))).toThrow('no answer can match this format');
});

test('a refused grammar blames the request field, with the reason and the place', () => {
  const schema = { properties: { a: { items: { if: {} } } } };
  const refusals: readonly (readonly [AnswerFormat, string])[] = [
    [
      { kind: 'schema', schema, param: 'response_format' },
      'Invalid \'response_format\': `if` is not supported (at "#/properties/a/items" of the schema).',
    ],
    [
      { kind: 'schema', schema: false, param: 'response_format' },
      "Invalid 'response_format': no answer can match this format.",
    ],
    [
      { kind: 'regex', regex: '\\bfoo', param: 'guided_regex' },
      "Invalid 'guided_regex': the regular expression is not supported: `\\b` is not supported.",
    ],
  ];
  for (const [format, message] of refusals)
    expect(() => matcherOf(format)).toThrow(
      expect.objectContaining({ status: 400, code: 'invalid_request', param: format.param, message }),
    );
});

test('a format that turns out too costly in the middle of an answer blames the request field', () => {
  const matcher = matcherOf({ kind: 'regex', regex: '(a{1,100}){1,100}(a|aa)*b', param: 'guided_regex' });
  expect(() => matchesWhole(matcher, 'a'.repeat(10_000))).toThrow(
    expect.objectContaining({ status: 400, param: 'guided_regex', message: expect.stringContaining('too') }),
  );
});
