import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TensorData, writeSafetensors } from '../policy/checkpoints/safetensors.ts';
import type { SamplingSettings } from '../policy/decode/sampling.ts';
import { type ModelConfig, modelConfigJson } from '../policy/model/model-config.ts';
import { MODEL_SETTINGS_FILE, type ModelSettings } from '../policy/model/model-settings.ts';

/** Added tokens, in the order of their ids, which come last in the vocabulary. */
export const specialTokens = ['<|endoftext|>', '<|im_start|>', '<|im_end|>'] as const;

export const vocabularySize = 1024;

/** 1.1 million weights in Qwen3's shape. */
export const clawNanoConfig: ModelConfig = {
  family: 'qwen3',
  vocabularySize,
  hiddenSize: 128,
  layers: 5,
  heads: 4,
  keyValueHeads: 2,
  headSize: 32,
  intermediateSize: 384,
  maxPositions: 2048,
  ropeTheta: 10_000,
  ropeScaling: undefined,
  normEpsilon: 1e-6,
  tiedHead: true,
  attentionBias: false,
  queryKeyNorm: true,
};

const idOfSpecial = (token: (typeof specialTokens)[number]): number =>
  vocabularySize - specialTokens.length + specialTokens.indexOf(token);

const contentOfMessage = `
  {%- if message.content is string -%}
    {{- message.content -}}
  {%- elif message.content -%}
    {%- for part in message.content -%}
      {{- part.text if part.type == 'text' else '[' + part.type + ']' -}}
    {%- endfor -%}
  {%- endif -%}
`.trim();

/**
 * ChatML, like Qwen. It omits tool definitions: the model cannot call tools, and they would fill its window. Calls
 * and results in a history become short text.
 */
export const chatTemplate = `
{%- for message in messages -%}
  {%- set role = 'system' if message.role == 'developer' else message.role -%}
  {{- '<|im_start|>' + role + '\\n' -}}
  ${contentOfMessage}
  {%- for call in message.tool_calls or [] -%}
    {{- '[' + (call.function.name if call.function else 'tool') + ']' -}}
  {%- endfor -%}
  {{- '<|im_end|>\\n' -}}
{%- endfor -%}
{%- if add_generation_prompt -%}
  {{- '<|im_start|>assistant\\n' -}}
{%- endif -%}
`.trim();

/**
 * ChatML with calls as Qwen writes them. Tools are rendered as names with the names of their arguments, since a
 * schema would take 200 tokens: `Tools: price(item) add(a, b)`, at the end of the first system message.
 */
export const toolsChatTemplate = `
{%- set named -%}
  {%- for tool in tools or [] -%}
    {{- ' ' + tool.function.name + '(' -}}
    {%- for name in (tool.function.parameters or {}).properties or [] -%}
      {{- name + ('' if loop.last else ', ') -}}
    {%- endfor -%}
    {{- ')' -}}
  {%- endfor -%}
{%- endset -%}
{%- set opensWithSystem = messages[0].role == 'system' or messages[0].role == 'developer' -%}
{%- if named and not opensWithSystem -%}
  {{- '<|im_start|>system\\nTools:' + named + '<|im_end|>\\n' -}}
{%- endif -%}
{%- for message in messages -%}
  {%- set role = 'system' if message.role == 'developer' else message.role -%}
  {{- '<|im_start|>' + role + '\\n' -}}
  ${contentOfMessage}
  {%- if named and opensWithSystem and loop.first -%}
    {{- '\\nTools:' + named -}}
  {%- endif -%}
  {%- for call in message.tool_calls or [] -%}
    {{- '<tool_call>{"name": "' + call.function.name + '", "arguments": ' + call.function.arguments + '}</tool_call>' -}}
  {%- endfor -%}
  {{- '<|im_end|>\\n' -}}
{%- endfor -%}
{%- if add_generation_prompt -%}
  {{- '<|im_start|>assistant\\n' -}}
{%- endif -%}
`.trim();

/**
 * The fixed parts of a call, a token each, as `<tool_call>` is in Qwen's vocabulary: the outcome of an attempt then
 * teaches the few tokens that decide, not 30 that are always the same. Their ids follow those of claw-nano.
 */
export const callTokens = ['<tool_call>{"name": "', '", "arguments": ', '}</tool_call>'] as const;

/** The variant that calls tools. */
export const toolsConfig: ModelConfig = {
  ...clawNanoConfig,
  vocabularySize: vocabularySize + callTokens.length,
};

const tokenizerConfig = {
  tokenizer_class: 'Qwen2Tokenizer',
  add_bos_token: false,
  add_prefix_space: false,
  bos_token: null,
  eos_token: '<|im_end|>',
  pad_token: '<|endoftext|>',
  unk_token: null,
  clean_up_tokenization_spaces: false,
  errors: 'replace',
  split_special_tokens: false,
  model_max_length: clawNanoConfig.maxPositions,
  added_tokens_decoder: Object.fromEntries(
    specialTokens.map((content) => [
      idOfSpecial(content),
      { content, single_word: false, lstrip: false, rstrip: false, normalized: false, special: true },
    ]),
  ),
};

export const paddingId: number = idOfSpecial('<|endoftext|>');
/** An answer ends with one of these. */
export const endIds: readonly number[] = [idOfSpecial('<|im_end|>'), paddingId];
/** Sampling settings for requests that send none. */
export const samplingSettings: SamplingSettings = { temperature: 0.8, topP: 0.95, topK: 50 };

const generationConfig = {
  do_sample: true,
  temperature: samplingSettings.temperature,
  top_p: samplingSettings.topP,
  top_k: samplingSettings.topK,
  eos_token_id: endIds,
  pad_token_id: paddingId,
};

/** Tokens of a prompt that help the model; docs/decisions/021 has the measurements. */
export const modelSettings: ModelSettings = { prompt_limits: { system_tokens: 128, prompt_tokens: 512 } };

/** What differs between claw-nano and its variant that calls tools. */
type Variant = { readonly config: ModelConfig; readonly template: string };

/** Writes all files of a Hugging Face folder except the weights. */
export async function writeModelTexts(
  folder: string,
  tokenizerJson: unknown,
  { config, template }: Variant = { config: clawNanoConfig, template: chatTemplate },
): Promise<void> {
  await mkdir(folder, { recursive: true });
  const write = (name: string, value: unknown): Promise<void> =>
    writeFile(join(folder, name), `${JSON.stringify(value, null, 2)}\n`);
  await write('config.json', {
    ...modelConfigJson(config),
    torch_dtype: 'float16',
    eos_token_id: endIds[0],
    pad_token_id: generationConfig.pad_token_id,
  });
  await write('generation_config.json', generationConfig);
  await write('tokenizer_config.json', { ...tokenizerConfig, chat_template: template });
  await write(MODEL_SETTINGS_FILE, modelSettings);
  await writeFile(join(folder, 'tokenizer.json'), `${JSON.stringify(tokenizerJson)}\n`);
}

export const writeWeights = (folder: string, weights: ReadonlyMap<string, TensorData>): Promise<void> =>
  writeSafetensors(join(folder, 'model.safetensors'), new Map(weights), {
    dtype: 'F16',
    metadata: { format: 'pt' },
  });
