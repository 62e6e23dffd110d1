import { z } from 'zod';
import { ServingError } from '../errors.ts';

const text = z.string();
/** Of whatever type: what is no text is refused by the name of its type. */
const part = z.looseObject({ type: text });
export type Part = z.output<typeof part>;
const content = z.union([text, z.array(part)], 'text or a list of parts');

/** A message may come without its type; what else there is is told apart by it. */
const item = z.looseObject({ type: text.optional() });
export type Item = z.output<typeof item>;

export const messageItem = z.looseObject({
  role: z.enum(['user', 'assistant', 'system', 'developer']),
  content,
});
export const callItem = z.looseObject({ call_id: text.min(1), name: text.min(1), arguments: text });
export const resultItem = z.looseObject({ call_id: text.min(1), output: content });
export const referenceItem = z.looseObject({ id: text.min(1).max(200) });
export const reasoningItem = z.looseObject({ content: z.array(part).nullish() });

const tool = z.looseObject({
  type: text,
  name: text.min(1).optional(),
  description: text.nullish(),
  parameters: z.looseObject({}).nullish(),
  strict: z.boolean().nullish(),
});
export type Tool = z.output<typeof tool>;

const named = z.looseObject({ type: z.literal('function'), name: text.min(1) });
const toolChoice = z.union(
  [
    z.enum(['none', 'auto', 'required']),
    named,
    z.looseObject({
      type: z.literal('allowed_tools'),
      mode: z.enum(['auto', 'required']),
      tools: z.array(named).min(1),
    }),
  ],
  'none, auto, required, a function or allowed_tools of functions',
);
export type ToolChoice = z.output<typeof toolChoice>;

/** A field that asks for what there is not, unless its value is one of these. */
const refused = (why: string, ...harmless: readonly unknown[]) =>
  z
    .unknown()
    .refine((value) => value === undefined || value === null || harmless.includes(value), {
      message: `not supported: ${why}`,
    })
    .optional();
/** Changes no answer. */
const hint = z.unknown().optional();

/** A request for a response; docs/apis.md lists the same fields. */
const responsesBody = z.strictObject({
  model: text.min(1),
  input: z.union([text.min(1), z.array(item).min(1)], 'text or a list of items'),
  instructions: text.nullish(),
  previous_response_id: text.max(200).nullish(),
  max_output_tokens: z.int().min(1).nullish(),
  temperature: z.number().min(0).max(2).nullish(),
  top_p: z.number().gt(0).max(1).nullish(),
  stream: z.boolean().nullish(),
  store: z.boolean().nullish(),
  tools: z.array(tool).max(1024).nullish(),
  tool_choice: toolChoice.nullish(),
  parallel_tool_calls: z.boolean().nullish(),
  user: text.max(512).nullish(),
  metadata: z.record(text, text).nullish(),
  text: z
    .looseObject({
      format: z
        .looseObject({ type: z.literal('text', 'not supported: answers are not constrained') })
        .nullish(),
    })
    .nullish(),

  background: refused('an answer is waited for', false),
  conversation: refused('send the items, or previous_response_id'),
  prompt: refused('there are no stored prompts'),
  top_logprobs: refused('ask for them in a chat', 0),
  moderation: refused('there is no moderation'),

  context_management: hint,
  include: hint,
  max_tool_calls: hint,
  prompt_cache_key: hint,
  prompt_cache_options: hint,
  prompt_cache_retention: hint,
  reasoning: hint,
  safety_identifier: hint,
  service_tier: hint,
  stream_options: hint,
  truncation: hint,
});
export type ResponsesBody = z.output<typeof responsesBody>;

/** @throws ServingError INVALID_REQUEST, UNSUPPORTED_PARAMETER, which name the field */
export function readResponsesBody(body: unknown): ResponsesBody {
  return readPart(responsesBody, body, '');
}

/** One part of a request; `at` is where it stands. @throws ServingError, as above */
export function readPart<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
  at: string,
): z.output<Schema> {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0]!;
  if (issue.code === 'unrecognized_keys' && issue.path.length === 0) {
    const param = issue.keys[0]!.slice(0, 200);
    throw ServingError.UNSUPPORTED_PARAMETER({ param, detail: 'there is no such field.' });
  }
  const steps = issue.path.map((step) => (typeof step === 'number' ? `[${step}]` : `.${String(step)}`));
  const param = `${at}${steps.join('')}`.replace(/^\./, '').slice(0, 200);
  const detail = param === '' ? 'The body must be a JSON object.' : `Invalid '${param}': ${issue.message}.`;
  throw ServingError.INVALID_REQUEST({ param, detail });
}
