import { z } from 'zod';
import { ServingError } from '../errors.ts';
import type { AnswerFormat } from '../format/answer-format.ts';
import { tooLarge } from '../format/schema-size.ts';

// What a request can ask an answer to be: OpenAI's field, and those of vLLM and SGLang.

const schema = z.union([z.boolean(), z.record(z.string(), z.unknown())]);
const written = z.string().min(1).max(1_000_000);
const choices = z.array(written).min(1).max(10_000);
/** `type` is looked at where the format is made, so that the refusal can name it. */
const responseFormat = z.looseObject({
  type: z.string(),
  json_schema: z.looseObject({ name: z.string().optional(), schema: schema.nullish() }).optional(),
});
/** A schema may come as its text. */
const guidedJson = z.union([schema, written]);
const structured = z.looseObject({
  json: guidedJson.nullish(),
  json_object: z.boolean().nullish(),
  regex: written.nullish(),
  choice: choices.nullish(),
  grammar: written.nullish(),
});

const honoured = <Field extends z.ZodType>(field: Field, about: string) =>
  ({ does: 'honoured', schema: field, about }) as const;

/** Rows of the table of fields. */
export const formatFields = {
  response_format: honoured(
    responseFormat.nullish(),
    '`json_object`, `json_schema`: the answer is such a document, whatever `strict` says; see below',
  ),
  guided_json: honoured(guidedJson.nullish(), 'a schema, as `response_format`'),
  guided_regex: honoured(written.nullish(), 'the whole answer matches it'),
  guided_choice: honoured(choices.nullish(), 'the answer is one of them'),
  guided_grammar: honoured(written.nullish(), 'by an upstream engine; else 400'),
  structured_outputs: honoured(
    structured.nullish(),
    'one of `json`, `json_object`, `regex`, `choice`, `grammar`, as the fields above',
  ),
  regex: honoured(written.nullish(), 'as `guided_regex`'),
  ebnf: honoured(written.nullish(), 'as `guided_grammar`'),
};

type Fields = typeof formatFields;
export type FormatBody = { readonly [Name in keyof Fields]?: z.output<Fields[Name]['schema']> };

/**
 * What the answer has to be; undefined: anything. `body` was found sound by the table of fields; `param` is
 * the name of its `response_format` where another API was spoken.
 * @throws ServingError INVALID_REQUEST, UNSUPPORTED_PARAMETER
 */
export function answerFormat(body: FormatBody, param = 'response_format'): AnswerFormat | undefined {
  const asked = [
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
  const [format, other] = asked;
  if (other !== undefined) throw refusal(other.param, `'${format!.param}' asks for a format already`);
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
    throw refusal(param, 'it is not the JSON of a schema');
  }
}

function formatsOf(asked: FormatBody['response_format'], param: string): readonly AnswerFormat[] {
  switch (asked?.type) {
    case undefined:
    case 'text':
      return [];
    case 'json_object':
      return [{ kind: 'json', param }];
    case 'json_schema': {
      const { json_schema: given } = asked;
      if (given === undefined) throw refusal(`${param}.json_schema`, 'it is missing');
      const named = given.name === undefined ? {} : { name: given.name };
      if (given.schema == null) return [{ kind: 'json', param }];
      return [{ kind: 'schema', param, schema: given.schema, ...named }];
    }
    default:
      throw ServingError.UNSUPPORTED_PARAMETER({
        param,
        detail: `formats of type ${JSON.stringify(asked!.type.slice(0, 40))}; \`text\`, \`json_object\` and \`json_schema\` are.`,
      });
  }
}

const refusal = (param: string, why: string): Error =>
  ServingError.INVALID_REQUEST({ param, detail: `Invalid '${param}': ${why}.` });
