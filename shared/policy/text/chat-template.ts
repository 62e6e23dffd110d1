import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Template } from '@huggingface/jinja';
import { z } from 'zod';
import { readModel } from '../checkpoints/read-model.ts';
import { UnsupportedModel } from '../model/model-config.ts';

/** A message as templates see it, with OpenAI's fields. */
export type TemplateMessage = {
  readonly role: string;
  readonly content?: unknown;
  readonly [field: string]: unknown;
};

type RenderInput = {
  readonly messages: readonly TemplateMessage[];
  readonly tools?: readonly unknown[] | undefined;
  /** Ends the text with the opening of an assistant message. */
  readonly addGenerationPrompt: boolean;
  /** Further variables, e.g. `enable_thinking`. They cannot replace those above or fixed ones such as `bos_token`. */
  readonly variables?: Readonly<Record<string, unknown>>;
};

export type ChatTemplate = {
  /**
   * The prompt's text, special tokens written out. Throws when the template refuses the messages
   * (raise_exception).
   */
  render(input: RenderInput): string;
};

const SpecialToken = z.union([
  z.string(),
  z.looseObject({ content: z.string() }).transform(({ content }) => content),
]);
const TokenizerConfig = z.looseObject({
  chat_template: z
    .union([z.string(), z.array(z.object({ name: z.string(), template: z.string() }))])
    .nullish(),
  bos_token: SpecialToken.nullish(),
  eos_token: SpecialToken.nullish(),
  pad_token: SpecialToken.nullish(),
  unk_token: SpecialToken.nullish(),
});
type TokenizerConfig = z.infer<typeof TokenizerConfig>;

/**
 * Loads a model's chat template from `chat_template.jinja`, else from `chat_template.json` or
 * `tokenizer_config.json`, which have a text or a list of named texts (`tool_use` is for requests with tools).
 * Special tokens that `tokenizer_config.json` does not have come from `special_tokens_map.json`.
 * Throws UnsupportedModel if there is no template, as for base models; DamagedModel if a file is malformed.
 */
export const loadChatTemplate = (folder: string): Promise<ChatTemplate> =>
  readModel(folder, () => readTemplateFiles(folder));

async function readTemplateFiles(folder: string): Promise<ChatTemplate> {
  const read = async (name: string): Promise<TokenizerConfig> =>
    TokenizerConfig.parse(JSON.parse((await readIfThere(join(folder, name))) ?? '{}'));
  const config = await read('tokenizer_config.json');
  const { chat_template } = await read('chat_template.json');
  const tokens = { ...(await read('special_tokens_map.json')), ...withoutNothing(config) };
  const template = chat_template ?? config.chat_template;
  const sources = namedTemplates(template, await readIfThere(join(folder, 'chat_template.jinja')));
  const source = sources.get('default');
  if (source === undefined) {
    throw new UnsupportedModel(
      `${folder} has no chat template, neither in chat_template.jinja nor in tokenizer_config.json: ` +
        'it is not a chat model. Use its Instruct or Chat variant',
    );
  }
  return createChatTemplate(source, { ...tokenVariables(tokens) }, sources.get('tool_use'));
}

/** A token that is null counts as absent. */
const withoutNothing = (config: TokenizerConfig): TokenizerConfig =>
  Object.fromEntries(Object.entries(config).filter(([, value]) => value != null));

function namedTemplates(
  given: TokenizerConfig['chat_template'],
  file: string | undefined,
): ReadonlyMap<string, string> {
  if (file !== undefined) return new Map([['default', file]]);
  const inline = given ?? [];
  if (typeof inline === 'string') return new Map([['default', inline]]);
  return new Map(inline.map(({ name, template }) => [name, template]));
}

function tokenVariables({
  bos_token,
  eos_token,
  pad_token,
  unk_token,
}: TokenizerConfig): Readonly<Record<string, string>> {
  const set = Object.entries({ bos_token, eos_token, pad_token, unk_token }).filter(
    ([, token]) => token != null,
  );
  return Object.fromEntries(set) as Record<string, string>;
}

/** A chat template from its Jinja source. `fixed`: variables of every rendering, such as `bos_token`. */
export function createChatTemplate(
  source: string,
  fixed: Readonly<Record<string, unknown>> = {},
  sourceWithTools: string = source,
): ChatTemplate {
  const plain = compile(source, fixed);
  const withTools = sourceWithTools === source ? plain : compile(sourceWithTools, fixed);
  return {
    render: (input) => ((input.tools?.length ?? 0) > 0 ? withTools : plain)(input),
  };
}

function compile(source: string, fixed: Readonly<Record<string, unknown>>): (input: RenderInput) => string {
  const template = new Template(source);
  const render = ({ messages, tools, addGenerationPrompt, variables }: RenderInput): string =>
    template.render({
      ...variables,
      ...fixed,
      messages: messages.map(withPlainContent),
      tools: tools !== undefined && tools.length > 0 ? tools : null,
      documents: null,
      add_generation_prompt: addGenerationPrompt,
    });
  if (!quotesArguments(render)) return render;
  return (input) => render({ ...input, messages: input.messages.map(withParsedArguments) });
}

/**
 * Many templates support content only as a string: text parts are joined, and missing content becomes ''.
 */
function withPlainContent(message: TemplateMessage): TemplateMessage {
  const { content } = message;
  if (content === null || content === undefined) return { ...message, content: '' };
  if (!Array.isArray(content)) return message;
  const texts = content.map((part: unknown) => TextPart.safeParse(part));
  if (!texts.every((part) => part.success)) return message;
  return { ...message, content: texts.map((part) => part.data.text).join('') };
}

const TextPart = z.looseObject({ type: z.literal('text'), text: z.string() });

/**
 * Some templates always write `arguments | tojson`. In OpenAI's protocol arguments are already JSON text, which would
 * be quoted again in a form that the model was never trained on. Such templates get parsed arguments.
 */
function quotesArguments(render: (input: RenderInput) => string): boolean {
  const call = { id: 'call00001', type: 'function', function: { name: 'probe', arguments: '{"probe":1}' } };
  const messages = [
    { role: 'user', content: 'probe' },
    { role: 'assistant', content: '', tool_calls: [call] },
  ];
  try {
    return render({ messages, addGenerationPrompt: false }).includes('{\\"probe\\"');
  } catch {
    return false; // a template that refuses tool calls
  }
}

const ToolCalls = z.array(z.looseObject({ function: z.looseObject({ arguments: z.string() }) }));

function withParsedArguments(message: TemplateMessage): TemplateMessage {
  const calls = ToolCalls.safeParse(message.tool_calls);
  if (!calls.success) return message;
  const tool_calls = calls.data.map((call) => ({
    ...call,
    function: { ...call.function, arguments: parsedOr(call.function.arguments) },
  }));
  return { ...message, tool_calls };
}

function parsedOr(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text; // a model may have written arguments that are not JSON
  }
}

async function readIfThere(path: string): Promise<string | undefined> {
  return existsSync(path) ? readFile(path, 'utf8') : undefined;
}
