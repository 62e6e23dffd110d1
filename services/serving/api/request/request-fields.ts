import { z } from 'zod';
import { chatMessage, toolCall } from '../../../../shared/events/chat-message.ts';
import { type FieldRule, hint, honoured, ignored, refused } from './field-rule.ts';
import { oldFunctionFields } from './old-functions.ts';
import {
  LONGEST_MODEL,
  LONGEST_STOP,
  LONGEST_TOOL_NAME,
  MOST_BIASES,
  MOST_CALLS,
  MOST_MESSAGES,
  MOST_PARTS,
  MOST_TOOLS,
} from './request-bounds.ts';
import { tokenLimit, userName } from './shared-fields.ts';
import { formatFields } from './structured-output.ts';
import { toolChoice } from './tool-choice.ts';

const isOneOf =
  (...values: readonly unknown[]) =>
  (value: unknown) =>
    values.includes(value);

const text = z.string();
/** Accepts parts of all types; `messagesOf` decides by the type. */
const part = z.looseObject({ type: z.string() });
const stopText = text.min(1).max(LONGEST_STOP);
/** Some clients send the arguments of a call as an object instead of JSON text. */
const calledFunction = toolCall.shape.function.extend({ arguments: z.union([text, z.looseObject({})]) });
const call = toolCall.extend({ function: calledFunction });
const message = z
  .looseObject({
    ...chatMessage.shape,
    role: z.enum(['system', 'developer', 'user', 'assistant', 'tool', 'function']),
    content: z.union([text, z.array(part).max(MOST_PARTS), z.null()]).optional(),
    tool_calls: z.array(call).max(MOST_CALLS).nullish(),
    function_call: calledFunction.nullish(),
    name: text.nullish(),
    tool_call_id: text.nullish(),
  })
  .superRefine((value, context) => {
    const isEmpty = value.content === undefined || value.content === null;
    if (isEmpty && (value.role === 'user' || value.role === 'tool')) {
      context.addIssue({
        code: 'custom',
        path: ['content'],
        message: `a ${value.role} message requires content`,
      });
    }
  });
const toolFunction = z.looseObject({
  name: text.min(1).max(LONGEST_TOOL_NAME),
  parameters: z.looseObject({}).nullish(),
});
/** Accepts tools of all types; only functions are checked here. */
const tool = z.looseObject({ type: text }).superRefine((value, context) => {
  if (value.type !== 'function') return;
  const parsed = toolFunction.safeParse(value.function);
  const [fault] = parsed.error?.issues ?? [];
  if (fault === undefined) return;
  context.addIssue({ code: 'custom', path: ['function', ...fault.path], message: fault.message });
});
const count = z.int().min(1);

/** All fields of a chat request. docs/use/api.md is generated from this table. */
export const requestFields = {
  model: honoured(
    text.min(1).max(LONGEST_MODEL),
    'any name selects the live policy; `@base` and `@v3` select a fixed version',
  ),
  messages: honoured(
    z.array(message).min(1).max(MOST_MESSAGES),
    'content is text or a list of text parts; `developer` is treated as `system`',
  ),
  stream: honoured(z.boolean().nullish(), 'server-sent events, one for each piece of text'),
  stream_options: honoured(
    z.looseObject({ include_usage: z.boolean().nullish() }).nullish(),
    '`include_usage`: the last chunk contains the usage',
  ),
  temperature: honoured(z.number().min(0).max(2).nullish(), "default: the model's own; below 0.1 is greedy"),
  top_p: honoured(z.number().min(0).max(1).nullish(), "default: the model's own, or 1; 0 is greedy"),
  top_k: honoured(z.int().min(-1).nullish(), "default: the model's own; 0 or -1 is off"),
  min_p: honoured(
    z.number().min(0).max(1).nullish(),
    'minimum probability of a token, relative to the most likely token; 0 is off',
  ),
  seed: honoured(z.int().nullish(), 'the same request, version and batch give the same answer'),
  stop: honoured(
    z.union([stopText, z.array(stopText).max(16)]).nullish(),
    'one string or up to 16; the answer does not include the matched string',
  ),
  stop_token_ids: honoured(
    z.array(z.int().min(0)).max(64).nullish(),
    'token ids that end the answer; the answer does not include them',
  ),
  max_tokens: honoured(tokenLimit.nullish(), 'limited to the space left in the context; -1 is no limit'),
  max_completion_tokens: honoured(tokenLimit.nullish(), 'same as `max_tokens`, and takes precedence over it'),
  n: honoured(count.nullish(), 'number of answers to the same prompt, at most `--max-choices`'),
  logprobs: honoured(z.boolean().nullish(), 'of the unfiltered distribution, at the sampling temperature'),
  top_logprobs: honoured(z.int().min(0).max(20).nullish(), 'requires `logprobs`'),
  frequency_penalty: honoured(z.number().min(-2).max(2).nullish(), 'if not 0, the turn does not train'),
  presence_penalty: honoured(z.number().min(-2).max(2).nullish(), 'if not 0, the turn does not train'),
  repetition_penalty: honoured(z.number().min(0.01).max(10).nullish(), 'if not 1, the turn does not train'),
  logit_bias: honoured(
    z
      .record(z.string().regex(/^\d{1,9}$/), z.number().min(-100).max(100))
      .refine((biases) => Object.keys(biases).length <= MOST_BIASES, `more than ${MOST_BIASES} tokens`)
      .nullish(),
    'by token id; if not empty, the turn does not train',
  ),
  tools: honoured(
    z.array(tool).max(MOST_TOOLS).nullish(),
    'functions, passed to the chat template. Tools that a server would run are left out, like unknown fields',
  ),
  tool_choice: honoured(
    toolChoice.nullish(),
    '`none`: the policy sees no tools; `required` or a named function: the answer is one call; `allowed_tools`: the policy sees only these tools',
  ),
  ...oldFunctionFields,
  parallel_tool_calls: honoured(z.boolean().nullish(), '`false`: the answer ends before a second call'),
  ...formatFields,
  enable_thinking: honoured(z.boolean().nullish(), 'passed to the chat template'),
  chat_template_kwargs: honoured(z.looseObject({}).nullish(), 'passed to the chat template'),
  reasoning_effort: honoured(
    z.json().optional(),
    '`none` sets `enable_thinking` to false, unless the request sets it; other values are not used',
  ),
  session_id: honoured(text.max(512).nullish(), 'explicit session, like the header `x-session-id`'),
  user: honoured(
    userName.nullish(),
    'a hint: if neither header nor content identifies the session, it is the session of the same user',
  ),

  best_of: refused('answers are not compared; use `n`', isOneOf(1, null)),
  typical_p: refused('the token record cannot represent this filter', isOneOf(1, null)),
  min_tokens: refused('the end of an answer cannot be suppressed', isOneOf(0, null)),
  ignore_eos: refused('the end of an answer cannot be suppressed', isOneOf(false, null)),
  modalities: refused(
    'answers are text',
    (value) => value === null || (Array.isArray(value) && value.every((modality) => modality === 'text')),
  ),
  audio: refused('answers are text', isOneOf(null)),
  moderation: refused('moderation is not available', isOneOf(null)),
  echo: refused('the prompt cannot be repeated', isOneOf(false, null)),

  web_search_options: ignored('web search is not available', isOneOf(null)),

  store: hint('every request is recorded'),
  prediction: hint('it could only speed up an answer'),
  metadata: hint('not stored'),
  safety_identifier: hint('not used'),
  prompt_cache_key: hint('not used'),
  prompt_cache_options: hint('not used'),
  prompt_cache_retention: hint('not used'),
  verbosity: hint('not used'),
  service_tier: hint('there is only one tier'),
} satisfies Readonly<Record<string, FieldRule>>;

/** Parts of fields whose handling differs from the row of the field. */
export const partFields: Readonly<Record<string, Pick<FieldRule, 'does' | 'about'>>> = {
  'messages[].content[].type': refused(
    '`text` (also as `input_text` or `output_text`) and `refusal` are read. An image becomes the text `[image]`, a file `[document]`; both are refused with `--images refuse`. Audio is refused',
  ),
  'messages[].audio': refused('messages are text'),
  'messages[].function_call': honoured(
    z.unknown(),
    'same as a call in `tool_calls`; the role `function` is treated as `tool`',
  ),
  'messages[].name': hint('passed to the chat template, which may not use it'),
  'tools[].type': refused('`function` is read; `custom` is refused; other types are left out'),
  'tools[].function.strict': hint(
    'arguments of a call forced by `tool_choice` always follow `parameters`, if the schema is supported; arguments of other calls are as the policy writes them',
  ),
  'stream_options.include_obfuscation': hint('events are not padded'),
};

type Fields = typeof requestFields;
type Honoured = {
  [Name in keyof Fields]: Fields[Name] extends { does: 'honoured' } ? Name : never;
}[keyof Fields];

const isHonoured = ([, rule]: readonly [string, FieldRule]) => rule.does === 'honoured';
type HonouredShape = { [Name in Honoured]: Extract<Fields[Name], { does: 'honoured' }>['schema'] };

/** Reads the honoured fields. The output contains no others. */
export const chatRequestSchema = z.object(
  Object.fromEntries(
    Object.entries(requestFields as Readonly<Record<string, FieldRule>>)
      .filter(isHonoured)
      .map(([name, rule]) => [name, (rule as { schema: z.ZodType }).schema]),
  ) as HonouredShape,
);
export type ChatRequestBody = z.output<typeof chatRequestSchema>;
