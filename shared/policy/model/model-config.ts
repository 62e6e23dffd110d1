import { z } from 'zod';

/**
 * RoPE scaling of Llama 3.1: long wavelengths are stretched by `factor`, those between the two bounds are
 * blended.
 */
export type Llama3RopeScaling = {
  readonly type: 'llama3';
  readonly factor: number;
  readonly lowFrequencyFactor: number;
  readonly highFrequencyFactor: number;
  readonly originalPositions: number;
};

export type ModelConfig = {
  readonly family: 'llama' | 'qwen2' | 'qwen3';
  /** Rows of the embedding; may include padding rows beyond the tokenizer's size. */
  readonly vocabularySize: number;
  readonly hiddenSize: number;
  readonly layers: number;
  readonly heads: number;
  readonly keyValueHeads: number;
  /** Per head; heads * headSize need not equal hiddenSize. */
  readonly headSize: number;
  readonly intermediateSize: number;
  readonly maxPositions: number;
  readonly ropeTheta: number;
  readonly ropeScaling: Llama3RopeScaling | undefined;
  readonly normEpsilon: number;
  /** The head's weights are the embedding's. */
  readonly tiedHead: boolean;
  /** q, k and v have a bias (Qwen2); o has none. */
  readonly attentionBias: boolean;
  /** RMSNorm over each query and key head before RoPE (Qwen3). */
  readonly queryKeyNorm: boolean;
};

const families = ['llama', 'qwen2', 'qwen3'] as const;

const Rope = z.looseObject({
  rope_type: z.string().optional(),
  type: z.string().optional(), // older spelling of rope_type
  rope_theta: z.number().optional(),
  factor: z.number().optional(),
  low_freq_factor: z.number().optional(),
  high_freq_factor: z.number().optional(),
  original_max_position_embeddings: z.int().optional(),
  partial_rotary_factor: z.number().optional(),
});
type Rope = z.infer<typeof Rope>;

const size = z.int().min(1);

/**
 * config.json in both spellings: the hub's (rope_theta, rope_scaling) and that of transformers 5
 * (rope_parameters).
 */
const HubConfig = z.looseObject({
  model_type: z.string(),
  architectures: z.array(z.string()).nullish(),
  vocab_size: size,
  hidden_size: size,
  intermediate_size: size,
  num_hidden_layers: size,
  num_attention_heads: size,
  num_key_value_heads: size.nullish(),
  head_dim: size.nullish(),
  hidden_act: z.string().default('silu'),
  max_position_embeddings: size,
  rms_norm_eps: z.number().positive().default(1e-6),
  rope_theta: z.number().positive().nullish(),
  rope_scaling: Rope.nullish(),
  rope_parameters: Rope.nullish(),
  rope_interleaved: z.boolean().nullish(),
  partial_rotary_factor: z.number().nullish(),
  tie_word_embeddings: z.boolean().default(false),
  attention_bias: z.boolean().nullish(),
  mlp_bias: z.boolean().nullish(),
  sliding_window: z.int().nullish(),
  use_sliding_window: z.boolean().nullish(),
  /** Layers from this one on use the sliding window. */
  max_window_layers: z.int().nullish(),
  num_experts: z.int().nullish(),
  num_local_experts: z.int().nullish(),
  layer_types: z.array(z.string()).nullish(),
  quantization_config: z.unknown().optional(),
});
type HubConfig = z.infer<typeof HubConfig>;

/** Thrown if a model is valid but has a feature that is not supported. */
export class UnsupportedModel extends Error {
  override readonly name = 'UnsupportedModel';
}

/**
 * Reads a Hugging Face `config.json`, already parsed from JSON. Throws UnsupportedModel that names every
 * unsupported setting, and an Error if a field is missing or malformed.
 */
export function parseModelConfig(json: unknown): ModelConfig {
  const family = readFamily(json);
  const parsed = HubConfig.safeParse(json);
  if (!parsed.success) throw new Error(`config.json is malformed: ${z.prettifyError(parsed.error)}`);
  const config = parsed.data;
  const rope = config.rope_parameters ?? config.rope_scaling ?? undefined;
  const faults = unsupported(family, config, rope);
  if (faults.length > 0)
    throw new UnsupportedModel(`this model needs unsupported features: ${faults.join('; ')}`);

  const heads = config.num_attention_heads;
  const keyValueHeads = config.num_key_value_heads ?? heads;
  if (heads % keyValueHeads !== 0)
    throw new Error(`${heads} query heads cannot be divided among ${keyValueHeads} key/value heads`);
  const headSize = config.head_dim ?? (family === 'qwen3' ? 128 : config.hidden_size / heads);
  if (!Number.isInteger(headSize / 2)) throw new Error(`a head size of ${headSize} is not an even number`);
  return {
    family,
    vocabularySize: config.vocab_size,
    hiddenSize: config.hidden_size,
    layers: config.num_hidden_layers,
    heads,
    keyValueHeads,
    headSize,
    intermediateSize: config.intermediate_size,
    maxPositions: config.max_position_embeddings,
    ropeTheta: rope?.rope_theta ?? config.rope_theta ?? 10_000,
    ropeScaling: ropeType(rope) === 'llama3' ? llama3Scaling(rope!) : undefined,
    normEpsilon: config.rms_norm_eps,
    tiedHead: config.tie_word_embeddings,
    attentionBias: family === 'qwen2',
    queryKeyNorm: family === 'qwen3',
  };
}

function readFamily(json: unknown): ModelConfig['family'] {
  const { model_type } = z.looseObject({ model_type: z.string().optional() }).parse(json);
  const family = families.find((known) => known === model_type);
  if (family !== undefined) return family;
  const declared = model_type === undefined ? 'no model_type' : `model_type "${model_type}"`;
  throw new UnsupportedModel(`config.json has ${declared}; supported are ${families.join(', ')}`);
}

/** Far above any model of these families, so that a number in a file cannot exhaust the memory. */
const mostSizes = {
  num_hidden_layers: 1_024,
  vocab_size: 2 ** 22,
  hidden_size: 2 ** 17,
  intermediate_size: 2 ** 20,
  num_attention_heads: 2 ** 12,
  num_key_value_heads: 2 ** 12,
  head_dim: 2 ** 12,
  max_position_embeddings: 2 ** 26,
} as const satisfies Partial<Readonly<Record<keyof HubConfig, number>>>;

const tooLarge = (config: HubConfig): readonly string[] =>
  Object.entries(mostSizes).flatMap(([name, most]) => {
    const value = config[name as keyof typeof mostSizes] ?? 0;
    return value > most ? [`${name} ${value} (at most ${most})`] : [];
  });

function unsupported(
  family: ModelConfig['family'],
  config: HubConfig,
  rope: Rope | undefined,
): readonly string[] {
  const architecture = config.architectures?.find((name) => name !== architectures[family]);
  const experts = config.num_experts ?? config.num_local_experts ?? 0;
  const type = ropeType(rope);
  const partial = rope?.partial_rotary_factor ?? config.partial_rotary_factor ?? 1;
  const checks: readonly (readonly [boolean, string])[] = [
    [architecture !== undefined, `architecture ${architecture} (only ${architectures[family]})`],
    [experts > 0, `a mixture of ${experts} experts`],
    [config.hidden_act !== 'silu', `hidden_act "${config.hidden_act}" (only "silu")`],
    [type !== 'default' && type !== 'llama3', `rope scaling "${type}" (only "llama3")`],
    [partial !== 1, `partial_rotary_factor ${partial}`],
    [config.rope_interleaved === true, 'rope_interleaved'],
    [config.attention_bias === true, 'attention_bias (a bias on o_proj)'],
    [config.mlp_bias === true, 'mlp_bias'],
    [slides(family, config), 'sliding window attention'],
    [
      config.layer_types?.some((layer) => layer !== 'full_attention') ?? false,
      'layers other than full_attention',
    ],
    [config.quantization_config != null, 'quantised weights (quantization_config)'],
  ];
  return [...checks.filter(([fails]) => fails).map(([, name]) => name), ...tooLarge(config)];
}

/** Qwen2 and Qwen3 configure a window without using it; models of Llama's kind use a configured window. */
function slides(family: ModelConfig['family'], config: HubConfig): boolean {
  if (config.layer_types != null) return false; // checked separately
  const { sliding_window: window, num_hidden_layers: layers, max_position_embeddings: positions } = config;
  if (config.use_sliding_window === true) return (config.max_window_layers ?? 0) < layers;
  return family === 'llama' && config.use_sliding_window == null && window != null && window < positions;
}

const ropeType = (rope: Rope | undefined): string => rope?.rope_type ?? rope?.type ?? 'default';

function llama3Scaling(rope: Rope): Llama3RopeScaling {
  const { factor, low_freq_factor, high_freq_factor, original_max_position_embeddings } = rope;
  if (factor === undefined || low_freq_factor === undefined || high_freq_factor === undefined) {
    throw new Error('rope scaling "llama3" needs factor, low_freq_factor or high_freq_factor');
  }
  if (original_max_position_embeddings === undefined) {
    throw new Error('rope scaling "llama3" needs original_max_position_embeddings');
  }
  return {
    type: 'llama3',
    factor,
    lowFrequencyFactor: low_freq_factor,
    highFrequencyFactor: high_freq_factor,
    originalPositions: original_max_position_embeddings,
  };
}

const architectures = {
  llama: 'LlamaForCausalLM',
  qwen2: 'Qwen2ForCausalLM',
  qwen3: 'Qwen3ForCausalLM',
} as const;

/** The `config.json` of a model, in the hub's spelling; parseModelConfig reads it back. */
export function modelConfigJson(config: ModelConfig): Readonly<Record<string, unknown>> {
  const scaling = config.ropeScaling;
  return {
    architectures: [architectures[config.family]],
    model_type: config.family,
    vocab_size: config.vocabularySize,
    hidden_size: config.hiddenSize,
    intermediate_size: config.intermediateSize,
    num_hidden_layers: config.layers,
    num_attention_heads: config.heads,
    num_key_value_heads: config.keyValueHeads,
    head_dim: config.headSize,
    hidden_act: 'silu',
    max_position_embeddings: config.maxPositions,
    rms_norm_eps: config.normEpsilon,
    rope_theta: config.ropeTheta,
    rope_scaling: scaling && {
      rope_type: 'llama3',
      factor: scaling.factor,
      low_freq_factor: scaling.lowFrequencyFactor,
      high_freq_factor: scaling.highFrequencyFactor,
      original_max_position_embeddings: scaling.originalPositions,
    },
    tie_word_embeddings: config.tiedHead,
  };
}
