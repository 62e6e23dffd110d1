import { z } from 'zod';
import { chatMessage, toolCall } from '../../../shared/events/chat-message.ts';
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

/**
 * What happens to a field of a chat request. `honoured`: read by the schema; `hint`: decoration that
 * changes no answer, ignored; `ignored`: left out, and the answer names it, as it does a field that is not in
 * the table; `refused`: 400 with its name. The last two only where the value asks for something.
 */
export type FieldRule =
  | { readonly does: 'honoured'; readonly schema: z.ZodType; readonly about: string }
  | { readonly does: 'hint'; readonly about: string }
  | {
      readonly does: 'ignored' | 'refused';
      readonly harmless: (value: unknown) => boolean;
      readonly about: string;
    };

const honoured = <Schema extends z.ZodType>(schema: Schema, about: string) =>
  ({ does: 'honoured', schema, about }) as const;
const hint = (about: string) => ({ does: 'hint', about }) as const;
const ignored = (about: string, harmless: (value: unknown) => boolean = () => false) =>
  ({ does: 'ignored', about, harmless }) as const;
const refused = (about: string, harmless: (value: unknown) => boolean = () => false) =>
  ({ does: 'refused', about, harmless }) as const;

const isOneOf =
  (...values: readonly unknown[]) =>
  (value: unknown) =>
    values.includes(value);

const text = z.string();
/** Parts of all types are let through here, so that what becomes of them can be told by their type. */
const part = z.looseObject({ type: z.string() });
const stopText = text.min(1).max(LONGEST_STOP);
/** Some clients give the arguments of a call as the object that their text stands for. */
const called = toolCall.shape.function.extend({ arguments: z.union([text, z.looseObject({})]) });
const call = toolCall.extend({ function: called });
const message = z
  .looseObject({
    ...chatMessage.shape,
    role: z.enum(['system', 'developer', 'user', 'assistant', 'tool', 'function']),
    content: z.union([text, z.array(part).max(MOST_PARTS), z.null()]).optional(),
    tool_calls: z.array(call).max(MOST_CALLS).nullish(),
    function_call: called.nullish(),
    name: text.nullish(),
    tool_call_id: text.nullish(),
  })
  .superRefine((value, context) => {
    const silent = value.content === undefined || value.content === null;
    if (silent && (value.role === 'user' || value.role === 'tool')) {
      context.addIssue({
        code: 'custom',
        path: ['content'],
        message: `a ${value.role} message needs content`,
      });
    }
  });
const toolFunction = z.looseObject({
  name: text.min(1).max(LONGEST_TOOL_NAME),
  parameters: z.looseObject({}).nullish(),
});
/** What becomes of a tool that is no function is told by its type. */
const tool = z.looseObject({ type: text }).superRefine((value, context) => {
  if (value.type !== 'function') return;
  const parsed = toolFunction.safeParse(value.function);
  const [fault] = parsed.error?.issues ?? [];
  if (fault === undefined) return;
  context.addIssue({ code: 'custom', path: ['function', ...fault.path], message: fault.message });
});
const count = z.int().min(1);

/**
 * The one place where it is decided what a chat request may ask for. docs/compatibility.md is made of it.
 */
export const requestFields = {
  model: honoured(
    text.min(1).max(LONGEST_MODEL),
    'any name: the live policy; `@base`, `@v3`: a version of its own',
  ),
  messages: honoured(
    z.array(message).min(1).max(MOST_MESSAGES),
    'content as text or as text parts; `developer` is `system`',
  ),
  stream: honoured(z.boolean().nullish(), 'server-sent events, one per piece of text'),
  stream_options: honoured(
    z.looseObject({ include_usage: z.boolean().nullish() }).nullish(),
    '`include_usage`: a last chunk with the usage',
  ),
  temperature: honoured(z.number().min(0).max(2).nullish(), "default: the model's own; below 0.1 greedy"),
  top_p: honoured(z.number().min(0).max(1).nullish(), "default: the model's own, else 1; 0: greedy"),
  top_k: honoured(z.int().min(-1).nullish(), "default: the model's own; 0 or -1: off"),
  min_p: honoured(
    z.number().min(0).max(1).nullish(),
    'share of the likeliest token that a token needs; 0: off',
  ),
  seed: honoured(z.int().nullish(), 'same request, version and batch give the same answer'),
  stop: honoured(
    z.union([stopText, z.array(stopText).max(16)]).nullish(),
    'a text or up to 16; what it matches is not shown',
  ),
  stop_token_ids: honoured(z.array(z.int().min(0)).max(64).nullish(), 'end the answer; not shown'),
  max_tokens: honoured(tokenLimit.nullish(), 'clamped to what the context leaves; -1: no limit'),
  max_completion_tokens: honoured(tokenLimit.nullish(), 'the same; it wins over `max_tokens`'),
  n: honoured(count.nullish(), 'answers to the same prompt; `--max-choices` at most'),
  logprobs: honoured(z.boolean().nullish(), 'unfiltered, at the temperature that was sampled with'),
  top_logprobs: honoured(z.int().min(0).max(20).nullish(), 'needs `logprobs`'),
  frequency_penalty: honoured(z.number().min(-2).max(2).nullish(), 'not 0: the turn does not train'),
  presence_penalty: honoured(z.number().min(-2).max(2).nullish(), 'not 0: the turn does not train'),
  repetition_penalty: honoured(z.number().min(0.01).max(10).nullish(), 'not 1: the turn does not train'),
  logit_bias: honoured(
    z
      .record(z.string().regex(/^\d{1,9}$/), z.number().min(-100).max(100))
      .refine((biases) => Object.keys(biases).length <= MOST_BIASES, `more than ${MOST_BIASES} tokens`)
      .nullish(),
    'by token id; not empty: the turn does not train',
  ),
  tools: honoured(
    z.array(tool).max(MOST_TOOLS).nullish(),
    'functions; given to the chat template. Those that a server would run are left out, as fields that are not known',
  ),
  tool_choice: honoured(
    toolChoice.nullish(),
    '`none`: no tools are shown; `required`, a named function: the answer is one call; `allowed_tools`: only those are shown',
  ),
  ...oldFunctionFields,
  parallel_tool_calls: honoured(z.boolean().nullish(), '`false`: an answer ends before a second call'),
  ...formatFields,
  enable_thinking: honoured(z.boolean().nullish(), 'given to the chat template'),
  chat_template_kwargs: honoured(z.looseObject({}).nullish(), 'given to the chat template'),
  session_id: honoured(text.max(512).nullish(), 'explicit session, as the header `x-session-id`'),
  user: honoured(
    userName.nullish(),
    'a hint: where neither header nor content tells the session, it is that of the same user',
  ),

  best_of: refused('answers are not compared; ask for `n`', isOneOf(1, null)),
  typical_p: refused('a filter that the token record cannot note', isOneOf(1, null)),
  min_tokens: refused('the end of an answer is not suppressed', isOneOf(0, null)),
  ignore_eos: refused('the end of an answer is not suppressed', isOneOf(false, null)),
  modalities: refused(
    'answers are text',
    (value) => value === null || (Array.isArray(value) && value.every((one) => one === 'text')),
  ),
  audio: refused('answers are text', isOneOf(null)),
  moderation: refused('there is no moderation', isOneOf(null)),
  echo: refused('the prompt is not repeated', isOneOf(false, null)),

  web_search_options: ignored('there is no web search', isOneOf(null)),

  store: hint('every request is recorded'),
  prediction: hint('it could only make an answer come sooner'),
  metadata: hint('not kept'),
  safety_identifier: hint('not used'),
  prompt_cache_key: hint('not used'),
  prompt_cache_options: hint('not used'),
  prompt_cache_retention: hint('not used'),
  reasoning_effort: hint('not used'),
  verbosity: hint('not used'),
  service_tier: hint('there is one'),
} satisfies Readonly<Record<string, FieldRule>>;

/** What becomes of parts of the honoured fields, where that is not the field's own row. */
export const partFields: Readonly<Record<string, Pick<FieldRule, 'does' | 'about'>>> = {
  'messages[].content[].type': refused(
    '`text` (also as `input_text`, `output_text`) and `refusal` are read; an image becomes the text `[image]`, or is refused with `--images refuse`; audio and files are refused',
  ),
  'messages[].audio': refused('messages are text'),
  'messages[].function_call': honoured(z.unknown(), 'as one of `tool_calls`; the role `function` is `tool`'),
  'messages[].name': hint('given to the chat template, which may not show it'),
  'tools[].type': refused('`function` is read, and `custom` refused; all others are left out'),
  'tools[].function.strict': hint(
    'the arguments of a call that `tool_choice` forces are of `parameters` in any case, where a schema such as that is held; those of other calls are as the policy writes them',
  ),
  'stream_options.include_obfuscation': hint('nothing is padded'),
};

type Fields = typeof requestFields;
type Honoured = {
  [Name in keyof Fields]: Fields[Name] extends { does: 'honoured' } ? Name : never;
}[keyof Fields];

const isHonoured = ([, rule]: readonly [string, FieldRule]) => rule.does === 'honoured';
type HonouredShape = { [Name in Honoured]: Extract<Fields[Name], { does: 'honoured' }>['schema'] };

/** Reads the honoured fields; the others are not in its output. */
export const chatRequestSchema = z.object(
  Object.fromEntries(
    Object.entries(requestFields as Readonly<Record<string, FieldRule>>)
      .filter(isHonoured)
      .map(([name, rule]) => [name, (rule as { schema: z.ZodType }).schema]),
  ) as HonouredShape,
);
export type ChatRequestBody = z.output<typeof chatRequestSchema>;
