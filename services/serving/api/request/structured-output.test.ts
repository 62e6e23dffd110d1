import { expect, test } from 'vitest';
import { answerFormat, type FormatBody } from './structured-output.ts';

const schema = { type: 'object' };

test.each<[FormatBody, object | undefined]>([
  [{}, undefined],
  [{ response_format: null, guided_json: null }, undefined],
  [{ response_format: { type: 'text' } }, undefined],
  [{ response_format: { type: 'json_object' } }, { kind: 'json', param: 'response_format' }],
  [
    { response_format: { type: 'json_schema', json_schema: { name: 'n', schema, strict: false } } },
    { kind: 'schema', schema, name: 'n', param: 'response_format' },
  ],
  [
    { response_format: { type: 'json_schema', json_schema: { name: 'n' } } },
    { kind: 'json', param: 'response_format' },
  ],
  [{ guided_json: '{"type":"object"}' }, { kind: 'schema', schema, param: 'guided_json' }],
  [{ guided_regex: 'a+' }, { kind: 'regex', regex: 'a+', param: 'guided_regex' }],
  [{ ebnf: 'root ::= "a"' }, { kind: 'grammar', grammar: 'root ::= "a"', param: 'ebnf' }],
  [
    { structured_outputs: { choice: ['a'] } },
    { kind: 'choice', of: ['a'], param: 'structured_outputs.choice' },
  ],
  [{ structured_outputs: { json_object: true } }, { kind: 'json', param: 'structured_outputs.json_object' }],
])('%j', (body, format) => {
  expect(answerFormat(body)).toEqual(format);
});

const deep = (levels: number): object => (levels === 0 ? {} : { items: deep(levels - 1) });

test.each<[FormatBody, string]>([
  [{ response_format: { type: 'structural_tag' } }, 'response_format'],
  [{ response_format: { type: 'json_schema' } }, 'response_format.json_schema'],
  [{ response_format: { type: 'json_object' }, guided_regex: 'a' }, 'guided_regex'],
  [{ guided_json: '{' }, 'guided_json'],
  [{ guided_json: '[1]' }, 'guided_json'],
  [{ guided_json: deep(200) as Record<string, unknown> }, 'guided_json'],
  [{ guided_json: { enum: ['x'.repeat(300_000)] } }, 'guided_json'],
  [{ guided_json: '['.repeat(2_000_000) }, 'guided_json'],
  [{ guided_choice: Array.from({ length: 400 }, (_, at) => `${'x'.repeat(600)}${at}`) }, 'guided_choice'],
])('refused by name', (body, param) => {
  expect(() => answerFormat(body)).toThrow(expect.objectContaining({ status: 400, param }));
});

test('errors use the field name of the API', () => {
  const body = { response_format: { type: 'json_object' } };
  expect(answerFormat(body, 'text.format')).toEqual({ kind: 'json', param: 'text.format' });
});
