import { z } from 'zod';
import { tooLarge } from '../../../../shared/json-grammar/schema-size.ts';
import { defined } from '../../../../shared/lang/defined.ts';
import { ServingError } from '../../errors.ts';
import type { AnswerFormat } from '../../generation.ts';
import { honoured } from './field-rule.ts';

// Formats that a request can require of an answer: the fields of OpenAI, vLLM and SGLang.

const schema = z.union([z.boolean(), z.record(z.string(), z.unknown())]);
const nonEmptyText = z.string().min(1).max(1_000_000);
const choices = z.array(nonEmptyText).min(1).max(10_000);
/** `formatsOf` checks `type`, so that the refusal can name it. */
const responseFormat = z.looseObject({
  type: z.string(),
  json_schema: z.looseObject({ name: z.string().optional(), schema: schema.nullish() }).optional(),
});
/** A schema may be sent as JSON text. */
const guidedJson = z.union([schema, nonEmptyText]);
const structured = z.looseObject({
  json: guidedJson.nullish(),
  json_object: z.boolean().nullish(),
  regex: nonEmptyText.nullish(),
  choice: choices.nullish(),
  grammar: nonEmptyText.nullish(),
});

/** Rows of the field table. */
export const formatFields = {
  response_format: honoured(
    responseFormat.nullish(),
    '`json_object`, `json_schema`: the answer is a document of this form, regardless of `strict`; see below',
  ),
  guided_json: honoured(guidedJson.nullish(), 'a schema, like `response_format`'),
  guided_regex: honoured(nonEmptyText.nullish(), 'the whole answer matches it'),
  guided_choice: honoured(choices.nullish(), 'the answer is one of these strings'),
  guided_grammar: honoured(
    nonEmptyText.nullish(),
    'only with an upstream engine that supports it; otherwise 400',
  ),
  structured_outputs: honoured(
    structured.nullish(),
    'one of `json`, `json_object`, `regex`, `choice`, `grammar`, like the fields above',
  ),
  regex: honoured(nonEmptyText.nullish(), 'same as `guided_regex`'),
  ebnf: honoured(nonEmptyText.nullish(), 'same as `guided_grammar`'),
};

type Fields = typeof formatFields;
export type FormatBody = { readonly [Name in keyof Fields]?: z.output<Fields[Name]['schema']> };

/**
 * The required format of the answer; undefined: any text. `body` is valid by the field table; `param` is the
 * API's name for `response_format`.
 * @throws ServingError INVALID_REQUEST, UNSUPPORTED_PARAMETER
 */
export function answerFormat(body: FormatBody, param = 'response_format'): AnswerFormat | undefined {
  const formats = [
    ...formatsOf(body.response_format, param),
    ...guided('guided_json', schemaFormat, body.guided_json),
    ...guided('guided_regex', regexFormat, body.guided_regex),
    ...guided('guided_choice', choiceFormat, body.guided_choice),
    ...guided('guided_grammar', grammarFormat, body.guided_grammar),
    ...guided('structured_outputs.json', schemaFormat, body.structured_outputs?.json),
    ...(body.structured_outputs?.json_object === true
      ? [{ kind: 'json', param: 'structured_outputs.json_object' } as const]
      : []),
    ...guided('structured_outputs.regex', regexFormat, body.structured_outputs?.regex),
    ...guided('structured_outputs.choice', choiceFormat, body.structured_outputs?.choice),
    ...guided('structured_outputs.grammar', grammarFormat, body.structured_outputs?.grammar),
    ...guided('regex', regexFormat, body.regex),
    ...guided('ebnf', grammarFormat, body.ebnf),
  ];
  const [format, other] = formats;
  if (other !== undefined) throw refusal(other.param, `'${format!.param}' already requires a format`);
  const fault = format === undefined ? undefined : faultOf(format);
  if (fault !== undefined) throw refusal(format!.param, fault);
  return format;
}

function faultOf(format: AnswerFormat): string | undefined {
  switch (format.kind) {
    case 'schema':
      return tooLarge(format.schema);
    case 'choice':
      return tooLarge(format.of);
    default:
      return undefined;
  }
}

const guided = <Value>(
  param: string,
  make: (param: string, value: Value) => AnswerFormat,
  value: Value | null | undefined,
): readonly AnswerFormat[] => (value == null ? [] : [make(param, value)]);

const schemaFormat = (param: string, value: z.output<typeof guidedJson>): AnswerFormat => ({
  kind: 'schema',
  param,
  schema: typeof value === 'string' ? parsed(param, value) : value,
});
const regexFormat = (param: string, regex: string): AnswerFormat => ({ kind: 'regex', param, regex });
const choiceFormat = (param: string, of: readonly string[]): AnswerFormat => ({ kind: 'choice', param, of });
const grammarFormat = (param: string, grammar: string): AnswerFormat => ({ kind: 'grammar', param, grammar });

function parsed(param: string, text: string): z.output<typeof schema> {
  try {
    return schema.parse(JSON.parse(text));
  } catch {
    throw refusal(param, 'it is not a JSON schema');
  }
}

function formatsOf(received: FormatBody['response_format'], param: string): readonly AnswerFormat[] {
  switch (received?.type) {
    case undefined:
    case 'text':
      return [];
    case 'json_object':
      return [{ kind: 'json', param }];
    case 'json_schema': {
      const { json_schema: spec } = received;
      if (spec === undefined) throw refusal(`${param}.json_schema`, 'it is missing');
      if (spec.schema == null) return [{ kind: 'json', param }];
      return [{ kind: 'schema', param, schema: spec.schema, ...defined({ name: spec.name }) }];
    }
    default:
      throw ServingError.UNSUPPORTED_PARAMETER({
        param,
        detail: `formats of type ${JSON.stringify(received!.type.slice(0, 40))}; use \`text\`, \`json_object\` or \`json_schema\`.`,
      });
  }
}

const refusal = (param: string, reason: string): Error =>
  ServingError.INVALID_REQUEST({ param, detail: `Invalid '${param}': ${reason}.` });
