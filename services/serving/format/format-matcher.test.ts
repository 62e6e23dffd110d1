import { expect, test } from 'vitest';
import type { AnswerFormat } from './answer-format.ts';
import { createFormatMatchers, type PossibleCalls } from './format-matcher.ts';
import type { MatchState } from './matcher.ts';

const matcherOf = createFormatMatchers();
const named: AnswerFormat = {
  ...{ kind: 'schema', param: 'response_format' },
  schema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
};

/** Whether an answer may be this text, as a whole. */
function takes(text: string, format: AnswerFormat, calls?: PossibleCalls): boolean {
  const matcher = matcherOf(format, calls);
  let state: MatchState | undefined = matcher.start;
  for (const letter of text) state = state && matcher.next(state, letter.codePointAt(0)!);
  return state?.canEnd === true;
}

test('beside tools an answer is the document or a call, in both forms of calls', () => {
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

test('a document begins with a space or a new line at most', () => {
  for (const start of ['', ' ', '\n']) expect(takes(`${start}{"city":""}`, named)).toBe(true);
  for (const start of ['  ', '\n ', '\t']) expect(takes(`${start}{"city":""}`, named)).toBe(false);
});

test('grammars are for upstream engines', () => {
  const format: AnswerFormat = { kind: 'grammar', grammar: 'root ::= "a"', param: 'guided_grammar' };
  expect(() => matcherOf(format)).toThrow(expect.objectContaining({ status: 400, param: 'guided_grammar' }));
});

test('a choice that no token can write is none', () => {
  const choices = (...of: string[]): AnswerFormat => ({ kind: 'choice', of, param: 'guided_choice' });
  expect(takes('ok', choices('ok', '\ud800'))).toBe(true);
  expect(matcherOf(choices('ok', '\ud800')).start.places).toHaveLength(1);
  expect(() => matcherOf(choices('\ud800'))).toThrow('no answer is of this format');
});
