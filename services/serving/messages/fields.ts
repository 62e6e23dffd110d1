import { z } from 'zod';
import { hint, honoured, refused } from '../chat/field-row.ts';
import {
  LONGEST_MODEL,
  LONGEST_STOP,
  LONGEST_TOOL_NAME,
  MOST_MESSAGES,
  MOST_PARTS,
  MOST_TOOLS,
} from '../chat/request-bounds.ts';
import { ServingError } from '../errors.ts';

const text = z.string();
/** Of whatever type: what is no text is refused by the name of its type. */
const block = z.looseObject({ type: text });
export type Block = z.output<typeof block>;
const content = z.union(
  [text, z.array(block).max(MOST_PARTS)],
  `text or a list of at most ${MOST_PARTS} blocks`,
);

const message = z.looseObject({ role: z.enum(['user', 'assistant', 'system']), content });
export type Message = z.output<typeof message>;

const tool = z.looseObject({
  type: text.nullish(),
  name: text.min(1).max(LONGEST_TOOL_NAME),
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

const fields = {
  model: honoured(text.min(1).max(LONGEST_MODEL), 'any name without `@` is the live policy'),
  messages: honoured(
    z.array(message).min(1).max(MOST_MESSAGES),
    'text, `thinking`, `tool_use` and `tool_result` blocks; images, documents and all others are refused. Each result becomes a message of its own. The last message must not be of the assistant',
  ),
  system: honoured(content.nullish(), 'text, or text blocks'),
  temperature: honoured(z.number().min(0).max(1).nullish(), "default: the model's own; below 0.1 greedy"),
  top_p: honoured(z.number().gt(0).max(1).nullish(), "default: the model's own, else 1"),
  top_k: honoured(z.int().min(0).nullish(), "default: the model's own; 0: off"),
  stop_sequences: honoured(
    z.array(text.min(1).max(LONGEST_STOP)).max(16).nullish(),
    'up to 16; the one that ended the answer stands in `stop_sequence`. An upstream engine that does not tell which gives `end_turn`',
  ),
  stream: honoured(
    z.boolean().nullish(),
    "events in Anthropic's order. `message_delta` and `message_stop` come when the fact of the answer is durable",
  ),
  tools: honoured(
    z.array(tool).max(MOST_TOOLS).nullish(),
    "the client's own; those that a server would run are refused",
  ),
  tool_choice: honoured(
    toolChoice.nullish(),
    "a chat's `tool_choice`; `disable_parallel_tool_use` is its `parallel_tool_calls: false`",
  ),
  thinking: honoured(
    z.looseObject({ type: z.enum(['enabled', 'adaptive', 'between_tools', 'disabled']) }).nullish(),
    '`enable_thinking` of the chat template: false for `disabled`, else true; `budget_tokens` is not used. What the policy thinks comes as `thinking` blocks',
  ),
  metadata: honoured(
    z.looseObject({ user_id: text.max(512).nullish() }).nullish(),
    "`user_id` is a chat's `user`",
  ),
  output_config: honoured(
    z
      .looseObject({
        format: z
          .looseObject({ type: z.literal('json_schema'), schema: z.record(text, z.unknown()) })
          .nullish(),
      })
      .nullish(),
    "`format`: `json_schema`, as a chat's `response_format`; `effort` is not used",
  ),

  container: refused('there is no container'),
  mcp_servers: refused('tools are called by the client'),

  cache_control: hint(),
  context_management: hint(),
  diagnostics: hint(),
  inference_geo: hint(),
  service_tier: hint('there is one'),
  speed: hint(),
  user_profile_id: hint(),
  workspace_id: hint(),
};

/** A request for a message; docs/compatibility.md has the same fields. */
export const messagesBody = z.strictObject({
  ...fields,
  max_tokens: honoured(
    z.int().min(1),
    'needed; clamped to what the context leaves, and the answer then ends as `model_context_window_exceeded`',
  ),
});
/** A request for the number of its tokens. */
export const countTokensBody = z.strictObject({ ...fields, max_tokens: z.int().min(1).nullish() });
export type MessagesBody = z.output<typeof countTokensBody>;

/** @throws ServingError INVALID_REQUEST, UNSUPPORTED_PARAMETER, which name the field */
export function readFields<Schema extends z.ZodType>(schema: Schema, body: unknown): z.output<Schema> {
  const parsed = schema.safeParse(body);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0]!;
  if (issue.code === 'unrecognized_keys' && issue.path.length === 0) {
    const param = issue.keys[0]!.slice(0, 200);
    throw ServingError.UNSUPPORTED_PARAMETER({ param, detail: 'there is no such field.' });
  }
  const param = issue.path.join('.').slice(0, 200);
  const detail = param === '' ? 'The body must be a JSON object.' : `${param}: ${issue.message}.`;
  throw ServingError.INVALID_REQUEST({ param, detail });
}
