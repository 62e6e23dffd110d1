import { z } from 'zod';
import { ServingError } from '../../errors.ts';
import { hint, honoured, ignored, noteOmittedFields } from '../request/field-row.ts';
import type { Omissions } from '../request/omissions.ts';
import {
  LONGEST_MODEL,
  LONGEST_STOP,
  LONGEST_TOOL_NAME,
  MOST_MESSAGES,
  MOST_PARTS,
  MOST_TOOLS,
} from '../request/request-bounds.ts';
import { tokenLimit, userName } from '../request/shared-fields.ts';

const text = z.string();
/** Accepts blocks of all types; later code refuses unsupported ones by type. */
const block = z.looseObject({ type: text });
export type Block = z.output<typeof block>;
const content = z.union(
  [text, z.array(block).max(MOST_PARTS)],
  `expected text or a list of at most ${MOST_PARTS} blocks`,
);

const message = z
  .looseObject({ role: z.enum(['user', 'assistant', 'system']), content: content.nullish() })
  .refine(({ role, content }) => role === 'system' || content != null, {
    path: ['content'],
    message: `expected text or a list of at most ${MOST_PARTS} blocks`,
  });
export type Message = z.output<typeof message>;

const tool = z.looseObject({
  type: text.nullish(),
  name: text.min(1).max(LONGEST_TOOL_NAME).optional(),
  description: text.nullish(),
  input_schema: z.looseObject({}).optional(),
});
export type Tool = z.output<typeof tool>;

const toolChoice = z.discriminatedUnion('type', [
  z.looseObject({ type: z.literal(['auto', 'any']), disable_parallel_tool_use: z.boolean().nullish() }),
  z.looseObject({
    type: z.literal('tool'),
    name: text.min(1),
    disable_parallel_tool_use: z.boolean().nullish(),
  }),
  z.looseObject({ type: z.literal('none') }),
]);
export type ToolChoice = z.output<typeof toolChoice>;

const format = z.looseObject({ type: z.literal('json_schema'), schema: z.record(text, z.unknown()) });

const fields = {
  model: honoured(text.min(1).max(LONGEST_MODEL), 'any name without `@` selects the live policy'),
  messages: honoured(
    z.array(message).min(1).max(MOST_MESSAGES),
    '`text`, `thinking`, `tool_use` and `tool_result` blocks. The text of a `document`, `search_result` or `compaction` is read, the first two inside tags of their type, after their title. An image becomes the text `[image]`, a document without text `[document]`; both are refused with `--images refuse`. Blocks of server-side tools (`server_tool_use`, `web_search_tool_result`, ...) and `tool_reference` are left out, like unknown fields; a message of nothing else becomes the text `[tool]`. Other blocks are refused. An empty system message is left out. Each result becomes a separate message. The last message must not have the role `assistant`; `count_tokens` counts it',
  ),
  system: honoured(content.nullish(), 'text, or text blocks'),
  temperature: honoured(z.number().min(0).max(1).nullish(), "default: the model's own; below 0.1 is greedy"),
  top_p: honoured(z.number().min(0).max(1).nullish(), "default: the model's own, or 1; 0 is greedy"),
  top_k: honoured(z.int().min(0).nullish(), "default: the model's own; 0 is off"),
  stop_sequences: honoured(
    z.array(text.min(1).max(LONGEST_STOP)).max(16).nullish(),
    'up to 16; `stop_sequence` in the answer is the one that ended it. If the upstream engine does not report it, the stop reason is `end_turn`',
  ),
  stream: honoured(
    z.boolean().nullish(),
    "events in Anthropic's order. `message_delta` and `message_stop` are sent when the answer's event is durable",
  ),
  tools: honoured(
    z.array(tool).max(MOST_TOOLS).nullish(),
    "the client's own tools. Tools that a server would run (`web_search_...`, `code_execution_...`) are left out, like unknown fields. Tools that Anthropic defines and the client runs (`bash_...`, `text_editor_...`, `computer_...`, `memory_...`) are refused",
  ),
  tool_choice: honoured(
    toolChoice.nullish(),
    'like `tool_choice` of a chat; `disable_parallel_tool_use` is the same as `parallel_tool_calls: false`',
  ),
  thinking: honoured(
    z.looseObject({ type: z.enum(['enabled', 'adaptive', 'between_tools', 'disabled']) }).nullish(),
    'sets `enable_thinking` of the chat template: false for `disabled`, otherwise true; `budget_tokens` is not used. Reasoning is returned as `thinking` blocks',
  ),
  metadata: honoured(
    z.looseObject({ user_id: userName.nullish() }).nullish(),
    '`user_id` is used like `user` of a chat',
  ),
  output_config: honoured(
    z.looseObject({ format: format.nullish() }).nullish(),
    '`format`: `json_schema`, like `response_format` of a chat; `effort` is not used',
  ),
  output_format: honoured(format.nullish(), 'older name of `output_config.format`, which takes precedence'),

  container: ignored('containers are not available'),
  mcp_servers: ignored('the client calls the tools'),

  cache_control: hint(),
  context_management: hint(),
  diagnostics: hint(),
  inference_geo: hint(),
  service_tier: hint('there is only one tier'),
  speed: hint(),
  user_profile_id: hint(),
  workspace_id: hint(),
};

/** A request for a message. docs/use/api.md lists these fields. */
export const messagesBody = z.object({
  ...fields,
  max_tokens: honoured(
    tokenLimit.nullable(),
    'required; limited to the space left in the context, where the answer ends with `model_context_window_exceeded`; -1 or null is no limit',
  ),
});
/** A request for a token count. */
export const countTokensBody = z.object({ ...fields, max_tokens: tokenLimit.nullish() });
export type MessagesBody = z.output<typeof countTokensBody>;

/** @throws ServingError INVALID_REQUEST, UNSUPPORTED_PARAMETER with the name of the field */
export function readFields<Schema extends z.ZodObject>(
  schema: Schema,
  body: unknown,
  omissions: Omissions,
): z.output<Schema> {
  const parsed = schema.safeParse(body);
  if (parsed.success) {
    noteOmittedFields(schema, body as object, omissions);
    return parsed.data;
  }
  const issue = parsed.error.issues[0]!;
  const param = issue.path.join('.').slice(0, 200);
  const detail = param === '' ? 'The body must be a JSON object.' : `${param}: ${issue.message}.`;
  throw ServingError.INVALID_REQUEST({ param, detail });
}
