import { z } from 'zod';
import { ServingError } from '../../errors.ts';
import { hint, honoured, noteOmittedFields, refused } from '../request/field-row.ts';
import type { Omissions } from '../request/omissions.ts';
import {
  LONGEST_MODEL,
  LONGEST_TOOL_NAME,
  MOST_MESSAGES,
  MOST_PARTS,
  MOST_TOOLS,
} from '../request/request-bounds.ts';
import { tokenLimit, userName } from '../request/shared-fields.ts';

const text = z.string();
/** Accepts parts of all types; later code refuses unsupported ones by type. */
const part = z.looseObject({ type: text });
export type Part = z.output<typeof part>;
const content = z.union(
  [text, z.array(part).max(MOST_PARTS)],
  `expected text or a list of at most ${MOST_PARTS} parts`,
);

/** A message may omit its type; other items have one. */
const item = z.looseObject({ type: text.optional() });
export type Item = z.output<typeof item>;

export const messageItem = z.looseObject({
  role: z.enum(['user', 'assistant', 'system', 'developer']),
  content,
});
export const callItem = z.looseObject({
  call_id: text.min(1),
  name: text.min(1),
  namespace: text.nullish(),
  arguments: z.union([text, z.looseObject({})]),
});
/** A call of a tool whose input is any text. */
export const customCallItem = z.looseObject({
  call_id: text.min(1),
  name: text.min(1),
  namespace: text.nullish(),
  input: text,
});
export const resultItem = z.looseObject({ call_id: text.min(1), output: content });
export const referenceItem = z.looseObject({ id: text.min(1).max(200) });
export const reasoningItem = z.looseObject({ content: z.array(part).nullish() });

/** Accepts tools of all types; `chatTools` decides by the type. */
const tool = z.looseObject({ type: text });
export type Tool = z.output<typeof tool>;
export const functionTool = z.looseObject({
  name: text.min(1).max(LONGEST_TOOL_NAME),
  description: text.nullish(),
  parameters: z.looseObject({}).nullish(),
  strict: z.boolean().nullish(),
});
export const namespaceTool = z.looseObject({
  name: text.min(1).max(LONGEST_TOOL_NAME),
  tools: z.array(tool).max(MOST_TOOLS),
});

export const namedTool = z.looseObject({ name: text.min(1), namespace: text.nullish() });
export const allowedTools = z.looseObject({
  mode: z.enum(['auto', 'required']),
  tools: z.array(tool).min(1).max(MOST_TOOLS),
});
const toolChoice = z.union(
  [z.enum(['none', 'auto', 'required']), tool],
  'expected none, auto, required, a function, or allowed_tools of functions',
);

/** A request for a response. docs/use/api.md lists these fields. */
export const responsesBody = z.object({
  model: honoured(
    text.min(1).max(LONGEST_MODEL),
    'any name selects the live policy; `@base` and `@v3` select a fixed version',
  ),
  input: honoured(
    z.union(
      [text.min(1), z.array(item).min(1).max(MOST_MESSAGES)],
      `expected text or a list of at most ${MOST_MESSAGES} items`,
    ),
    'text, or a list of items: text messages (an image becomes the text `[image]`, a file `[document]`; both are refused with `--images refuse`), `function_call`, `function_call_output`, `reasoning`, and `item_reference` to an item of a stored answer to the same key. Reasoning, text and calls of one answer become one chat message. A `custom_tool_call` and its output are read as a call with the argument `input`. A `compaction` and the items of other tools (`web_search_call`, `mcp_call`, `local_shell_call`, ...) are left out, like unknown fields; an answer of nothing else becomes the text `[tool]`',
  ),
  instructions: honoured(text.nullish(), 'a system message before all others, for this request only'),
  previous_response_id: honoured(
    text.max(200).nullish(),
    'puts the conversation up to that answer before `input`. 400 `previous_response_not_found` if the response was not stored, was deleted, or belongs to another key',
  ),
  max_output_tokens: honoured(
    tokenLimit.nullish(),
    'limited to the space left in the context; an answer that reaches the limit is `incomplete`; -1 is no limit',
  ),
  temperature: honoured(z.number().min(0).max(2).nullish(), "default: the model's own; below 0.1 is greedy"),
  top_p: honoured(z.number().min(0).max(1).nullish(), "default: the model's own, or 1; 0 is greedy"),
  stream: honoured(
    z.boolean().nullish(),
    "events in OpenAI's order; `response.completed` is sent when the answer's event is durable. A stream that fails ends with `response.failed`",
  ),
  store: honoured(
    z.boolean().nullish(),
    '`false`: the response cannot be retrieved by id. It is still recorded, because training needs the record',
  ),
  tools: honoured(
    z.array(tool).max(MOST_TOOLS).nullish(),
    'functions, also in a `namespace` (the policy sees `NAMESPACE__NAME`; a call has both names). Tools that a server would run (`web_search`, `file_search`, `mcp`, ...) are left out, like unknown fields. Tools that the client runs and that are not functions (`custom`, `local_shell`, ...) are refused',
  ),
  tool_choice: honoured(toolChoice.nullish(), 'like `tool_choice` of a chat'),
  parallel_tool_calls: honoured(z.boolean().nullish(), '`false`: the answer ends before a second call'),
  reasoning: honoured(
    z.looseObject({ effort: z.unknown().optional() }).nullish().catch(undefined),
    '`effort`: like `reasoning_effort` of a chat; the other members are not used',
  ),
  user: honoured(userName.nullish(), 'a hint at the session'),
  metadata: honoured(z.record(text, text).nullish(), 'repeated in the response'),
  text: honoured(
    z
      .looseObject({
        format: z
          .looseObject({ type: text, name: text.nullish(), schema: z.record(text, z.unknown()).nullish() })
          .nullish(),
      })
      .nullish(),
    '`format`: `text`, `json_object` or `json_schema`, like `response_format` of a chat; `verbosity` is not used',
  ),

  background: refused('answers are not generated in the background', false),
  conversation: refused('send the items or `previous_response_id` instead'),
  prompt: refused('stored prompts are not available'),
  top_logprobs: refused('use a chat completion for logprobs', 0),
  moderation: refused('moderation is not available'),

  context_management: hint(),
  include: hint(),
  max_tool_calls: hint(),
  prompt_cache_key: hint(),
  prompt_cache_options: hint(),
  prompt_cache_retention: hint(),
  safety_identifier: hint(),
  service_tier: hint('there is only one tier'),
  stream_options: hint('events are not padded'),
  truncation: hint('`--context` decides about a prompt that does not fit, as in a chat'),
});
export type ResponsesBody = z.output<typeof responsesBody>;

/** @throws ServingError INVALID_REQUEST, UNSUPPORTED_PARAMETER with the name of the field */
export function readResponsesBody(body: unknown, omissions: Omissions): ResponsesBody {
  const fields = readPart(responsesBody, body, '');
  noteOmittedFields(responsesBody, body as object, omissions);
  return fields;
}

/** Reads one part of a request; `at` is its path. @throws ServingError, as above */
export function readPart<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
  at: string,
): z.output<Schema> {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0]!;
  const steps = issue.path.map((step) => (typeof step === 'number' ? `[${step}]` : `.${String(step)}`));
  const param = `${at}${steps.join('')}`.replace(/^\./, '').slice(0, 200);
  const detail = param === '' ? 'The body must be a JSON object.' : `Invalid '${param}': ${issue.message}.`;
  throw ServingError.INVALID_REQUEST({ param, detail });
}
