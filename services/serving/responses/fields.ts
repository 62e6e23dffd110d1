import { z } from 'zod';
import { hint, honoured, noteOthers, refused } from '../chat/field-row.ts';
import type { Omissions } from '../chat/omissions.ts';
import {
  LONGEST_MODEL,
  LONGEST_TOOL_NAME,
  MOST_MESSAGES,
  MOST_PARTS,
  MOST_TOOLS,
} from '../chat/request-bounds.ts';
import { tokenLimit, userName } from '../chat/shared-fields.ts';
import { ServingError } from '../errors.ts';

const text = z.string();
/** Of whatever type: what is no text is refused by the name of its type. */
const part = z.looseObject({ type: text });
export type Part = z.output<typeof part>;
const content = z.union(
  [text, z.array(part).max(MOST_PARTS)],
  `text or a list of at most ${MOST_PARTS} parts`,
);

/** A message may come without its type; what else there is is told apart by it. */
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
export const resultItem = z.looseObject({ call_id: text.min(1), output: content });
export const referenceItem = z.looseObject({ id: text.min(1).max(200) });
export const reasoningItem = z.looseObject({ content: z.array(part).nullish() });

/** Of whatever type: what becomes of it is told by that. */
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
  'none, auto, required, a function or allowed_tools of functions',
);

/** A request for a response; docs/compatibility.md has the same fields. */
export const responsesBody = z.object({
  model: honoured(
    text.min(1).max(LONGEST_MODEL),
    'any name: the live policy; `@base`, `@v3`: a version of its own',
  ),
  input: honoured(
    z.union(
      [text.min(1), z.array(item).min(1).max(MOST_MESSAGES)],
      `text or a list of at most ${MOST_MESSAGES} items`,
    ),
    'text, or items: messages of text (an image becomes the text `[image]`, or is refused with `--images refuse`), `function_call`, `function_call_output`, `reasoning`, and `item_reference` to what a stored answer to the same key held. What the policy thought, said and called in one answer is one message of the chat',
  ),
  instructions: honoured(text.nullish(), 'a system message before all others, of this request alone'),
  previous_response_id: honoured(
    text.max(200).nullish(),
    'the conversation up to that answer goes before `input`. 400 `previous_response_not_found` where it was not stored, was deleted, or was given to another key',
  ),
  max_output_tokens: honoured(
    tokenLimit.nullish(),
    'clamped to what the context leaves; an answer that it cuts is `incomplete`; -1: no limit',
  ),
  temperature: honoured(z.number().min(0).max(2).nullish(), "default: the model's own; below 0.1 greedy"),
  top_p: honoured(z.number().min(0).max(1).nullish(), "default: the model's own, else 1; 0: greedy"),
  stream: honoured(
    z.boolean().nullish(),
    "events in OpenAI's order; `response.completed` comes when the fact of the answer is durable. A stream that breaks ends with `response.failed`",
  ),
  store: honoured(
    z.boolean().nullish(),
    '`false`: it is not found by its id. It is recorded all the same, since that is what trains',
  ),
  tools: honoured(
    z.array(tool).max(MOST_TOOLS).nullish(),
    'functions, also those in a `namespace` (the policy reads `NAMESPACE__NAME`; a call comes with both). Those that a server would run (`web_search`, `file_search`, `mcp`, ...) are left out, as fields that are not known. Those that the client runs and that are no functions (`custom`, `local_shell`, ...) are refused',
  ),
  tool_choice: honoured(toolChoice.nullish(), "a chat's `tool_choice`"),
  parallel_tool_calls: honoured(z.boolean().nullish(), '`false`: an answer ends before a second call'),
  user: honoured(userName.nullish(), 'a hint at the session'),
  metadata: honoured(z.record(text, text).nullish(), 'said back'),
  text: honoured(
    z
      .looseObject({
        format: z
          .looseObject({ type: text, name: text.nullish(), schema: z.record(text, z.unknown()).nullish() })
          .nullish(),
      })
      .nullish(),
    "`format`: text, `json_object`, `json_schema`, as a chat's `response_format`; `verbosity` is not used",
  ),

  background: refused('an answer is waited for', false),
  conversation: refused('send the items, or `previous_response_id`'),
  prompt: refused('there are no stored prompts'),
  top_logprobs: refused('ask for them in a chat', 0),
  moderation: refused('there is no moderation'),

  context_management: hint(),
  include: hint(),
  max_tool_calls: hint(),
  prompt_cache_key: hint(),
  prompt_cache_options: hint(),
  prompt_cache_retention: hint(),
  reasoning: hint(),
  safety_identifier: hint(),
  service_tier: hint('there is one'),
  stream_options: hint('nothing is padded'),
  truncation: hint('a prompt that does not fit goes by `--context`, as in a chat'),
});
export type ResponsesBody = z.output<typeof responsesBody>;

/** @throws ServingError INVALID_REQUEST, UNSUPPORTED_PARAMETER, which name the field */
export function readResponsesBody(body: unknown, omissions: Omissions): ResponsesBody {
  const read = readPart(responsesBody, body, '');
  noteOthers(responsesBody, body as object, omissions);
  return read;
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
  const steps = issue.path.map((step) => (typeof step === 'number' ? `[${step}]` : `.${String(step)}`));
  const param = `${at}${steps.join('')}`.replace(/^\./, '').slice(0, 200);
  const detail = param === '' ? 'The body must be a JSON object.' : `Invalid '${param}': ${issue.message}.`;
  throw ServingError.INVALID_REQUEST({ param, detail });
}
