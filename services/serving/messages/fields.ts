import { z } from 'zod';
import { ServingError } from '../errors.ts';

const text = z.string();
/** Of whatever type: what is no text is refused by the name of its type. */
const block = z.looseObject({ type: text });
export type Block = z.output<typeof block>;
const content = z.union([text, z.array(block)], 'text or a list of blocks');

const message = z.looseObject({ role: z.enum(['user', 'assistant', 'system']), content });
export type Message = z.output<typeof message>;

const tool = z.looseObject({
  type: text.nullish(),
  name: text.min(1),
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

const isNothing = (value: unknown): boolean =>
  value === undefined || value === null || (Array.isArray(value) && value.length === 0);
/** A field that asks for what there is not, unless its value asks for nothing. */
const refused = (why: string) => z.unknown().refine(isNothing, `not supported: ${why}`).optional();
/** Changes no answer. */
const hint = z.unknown().optional();

const fields = {
  model: text.min(1),
  messages: z.array(message).min(1),
  system: content.nullish(),
  temperature: z.number().min(0).max(1).nullish(),
  top_p: z.number().gt(0).max(1).nullish(),
  top_k: z.int().min(0).nullish(),
  stop_sequences: z.array(text.min(1)).max(16).nullish(),
  stream: z.boolean().nullish(),
  tools: z.array(tool).max(1024).nullish(),
  tool_choice: toolChoice.nullish(),
  thinking: z.looseObject({ type: z.enum(['enabled', 'adaptive', 'between_tools', 'disabled']) }).nullish(),
  metadata: z.looseObject({ user_id: text.max(512).nullish() }).nullish(),
  output_config: z.looseObject({ format: refused('answers are not constrained') }).nullish(),

  container: refused('there is no container'),
  mcp_servers: refused('tools are called by the client'),

  cache_control: hint,
  context_management: hint,
  diagnostics: hint,
  inference_geo: hint,
  service_tier: hint,
  speed: hint,
  user_profile_id: hint,
  workspace_id: hint,
};

/** A request for a message; docs/apis.md lists the same fields. */
export const messagesBody = z.strictObject({ ...fields, max_tokens: z.int().min(1) });
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
