import { z } from 'zod';
import { hint, honoured, ignored, noteOthers } from '../chat/field-row.ts';
import type { Omissions } from '../chat/omissions.ts';
import {
  LONGEST_MODEL,
  LONGEST_STOP,
  LONGEST_TOOL_NAME,
  MOST_MESSAGES,
  MOST_PARTS,
  MOST_TOOLS,
} from '../chat/request-bounds.ts';
import { tokenLimit, userName } from '../chat/shared-fields.ts';
import { ServingError } from '../errors.ts';

const text = z.string();
/** Of whatever type: what is no text is refused by the name of its type. */
const block = z.looseObject({ type: text });
export type Block = z.output<typeof block>;
const content = z.union(
  [text, z.array(block).max(MOST_PARTS)],
  `text or a list of at most ${MOST_PARTS} blocks`,
);

const message = z
  .looseObject({ role: z.enum(['user', 'assistant', 'system']), content: content.nullish() })
  .refine(({ role, content: said }) => role === 'system' || said != null, {
    path: ['content'],
    message: `text or a list of at most ${MOST_PARTS} blocks`,
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

const fields = {
  model: honoured(text.min(1).max(LONGEST_MODEL), 'any name without `@` is the live policy'),
  messages: honoured(
    z.array(message).min(1).max(MOST_MESSAGES),
    'text, `thinking`, `tool_use` and `tool_result` blocks; an image becomes the text `[image]`, or is refused with `--images refuse`; documents and all others are refused. A system message without words is left out. Each result becomes a message of its own. The last message must not be of the assistant',
  ),
  system: honoured(content.nullish(), 'text, or text blocks'),
  temperature: honoured(z.number().min(0).max(1).nullish(), "default: the model's own; below 0.1 greedy"),
  top_p: honoured(z.number().min(0).max(1).nullish(), "default: the model's own, else 1; 0: greedy"),
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
    "the client's own; those that a server would run (`web_search_...`, `code_execution_...`) are left out, as fields that are not known. Those that Anthropic defines and the client runs (`bash_...`, `text_editor_...`, `computer_...`, `memory_...`) are refused",
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
    z.looseObject({ user_id: userName.nullish() }).nullish(),
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

  container: ignored('there is no container'),
  mcp_servers: ignored('tools are called by the client'),

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
export const messagesBody = z.object({
  ...fields,
  max_tokens: honoured(
    tokenLimit.nullable(),
    'needed; clamped to what the context leaves, and the answer then ends as `model_context_window_exceeded`; -1 or null: no limit',
  ),
});
/** A request for the number of its tokens. */
export const countTokensBody = z.object({ ...fields, max_tokens: tokenLimit.nullish() });
export type MessagesBody = z.output<typeof countTokensBody>;

/** @throws ServingError INVALID_REQUEST, UNSUPPORTED_PARAMETER, which name the field */
export function readFields<Schema extends z.ZodObject>(
  schema: Schema,
  body: unknown,
  omissions: Omissions,
): z.output<Schema> {
  const parsed = schema.safeParse(body);
  if (parsed.success) {
    noteOthers(schema, body as object, omissions);
    return parsed.data;
  }
  const issue = parsed.error.issues[0]!;
  const param = issue.path.join('.').slice(0, 200);
  const detail = param === '' ? 'The body must be a JSON object.' : `${param}: ${issue.message}.`;
  throw ServingError.INVALID_REQUEST({ param, detail });
}
