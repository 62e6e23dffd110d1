import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { initialWeights } from '../model/initialise.ts';
import { weightShapes } from '../model/layout.ts';
import { modelConfigJson, parseModelConfig, UnsupportedModel } from '../model/model-config.ts';
import { readReference, referencePath } from '../testing/reference-fixtures.ts';
import { openCheckpoint } from './checkpoint.ts';
import { DamagedModel } from './read-model.ts';
import { readSafetensors, writeSafetensors } from './safetensors.ts';

const models = [
  'llama-tiny',
  'llama3-rope-tiny',
  'qwen2-tiny',
  'qwen3-tiny',
  'qwen3-tiny-untied-sharded',
  'llama-tiny-f16',
];

const hub = {
  model_type: 'llama',
  vocab_size: 1152,
  hidden_size: 64,
  intermediate_size: 160,
  num_hidden_layers: 3,
  num_attention_heads: 4,
  max_position_embeddings: 512,
};

describe.each(models)('%s', (model) => {
  test('both spellings of the configuration give the same model and survive the round trip', () => {
    const config = parseModelConfig(readReference(`models/${model}/config.json`));
    expect(parseModelConfig(readReference(`models/${model}/config.v5.json`))).toEqual(config);
    expect(parseModelConfig(modelConfigJson(config))).toEqual(config);
    expect(parseModelConfig(JSON.parse(JSON.stringify(modelConfigJson(config))))).toEqual(config);
  });

  test('weights have the shapes of the configuration', async () => {
    const { config, names, shape, float32 } = await openCheckpoint(referencePath(`models/${model}`));
    expect(shape('model.embed_tokens.weight')).toEqual([config.vocabularySize, config.hiddenSize]);
    expect(shape('model.layers.2.self_attn.k_proj.weight')).toEqual([
      config.keyValueHeads * config.headSize,
      config.hiddenSize,
    ]);
    expect(names.includes('lm_head.weight')).toBe(!config.tiedHead);
    expect(names.includes('model.layers.0.self_attn.q_proj.bias')).toBe(config.attentionBias);
    expect(names.includes('model.layers.0.self_attn.q_norm.weight')).toBe(config.queryKeyNorm);
    for (const name of names) expect(float32(name).every(Number.isFinite)).toBe(true);
  });
});

describe('reference', () => {
  test('embedding rows equal the hidden states before the first layer', async () => {
    for (const model of models) {
      const { config, float32 } = await openCheckpoint(referencePath(`models/${model}`));
      const reference = readReference(`models/${model}/reference.json`) as {
        prompts: { name: string; ids: number[] }[];
      };
      const file = await readSafetensors(referencePath(`models/${model}/reference.safetensors`));
      const name = file.names.find((each) => each.startsWith('hidden.p33.emb'))!;
      const rows = float32('model.embed_tokens.weight');
      const expected = reference.prompts
        .find((prompt) => prompt.name === 'p33')!
        .ids.flatMap((id) => [...rows.subarray(id * config.hiddenSize, (id + 1) * config.hiddenSize)]);
      expect([...file.float32(name)]).toEqual(expected);
    }
  });

  test('generation_config.json is read, with one or several end ids', async () => {
    const qwen = await openCheckpoint(referencePath('models/qwen3-tiny'));
    expect(qwen.generationConfig).toEqual({
      temperature: 0.7,
      topP: 0.8,
      topK: 20,
      eosTokenIds: [1202, 1200],
    });
    const llama = await openCheckpoint(referencePath('models/llama-tiny'));
    expect(llama.generationConfig.eosTokenIds).toEqual([1112]);
    expect(() => llama.float32('absent')).toThrow('no weight named "absent"');
  });
});

test('a weight of a wrong shape or type is refused by name before loading', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'checkpoint-'));
  try {
    const config = parseModelConfig({
      ...hub,
      num_hidden_layers: 1,
      tie_word_embeddings: true,
      vocab_size: 8,
    });
    await writeFile(
      join(folder, 'config.json'),
      JSON.stringify({ ...modelConfigJson(config), eos_token_id: 5 }),
    );
    const path = join(folder, 'model.safetensors');
    const weights = new Map(
      [...initialWeights(config, 1)].map(([name, values]) => [
        name,
        { shape: weightShapes(config).get(name)!, values },
      ]),
    );
    await writeSafetensors(path, weights, { dtype: 'F32' });
    const { names, generationConfig } = await openCheckpoint(folder);
    expect(names).toHaveLength(11);
    expect(generationConfig).toEqual({ eosTokenIds: [5] });

    await writeSafetensors(
      path,
      weights.set('model.norm.weight', { shape: [32], values: new Float32Array(32) }),
      {
        dtype: 'F32',
      },
    );
    await expect(openCheckpoint(folder)).rejects.toThrow(
      '"model.norm.weight" has shape [32], but config.json needs [64]',
    );

    let end = 0;
    const entries = [...weightShapes(config)].map(([name, shape]) => {
      const start = end;
      end += shape.reduce((product, length) => product * length, 1);
      return [name, { dtype: 'F8_E4M3', shape, data_offsets: [start, end] }];
    });
    const header = Buffer.from(JSON.stringify(Object.fromEntries(entries)));
    const length = Buffer.alloc(8);
    length.writeBigUInt64LE(BigInt(header.length));
    await writeFile(path, Buffer.concat([length, header, Buffer.alloc(end)]));
    await expect(openCheckpoint(folder)).rejects.toThrow(
      '"model.embed_tokens.weight" is stored as F8_E4M3 (only F32, F16 and BF16 are read)',
    );
    await writeFile(
      join(folder, 'config.json'),
      JSON.stringify({ ...modelConfigJson(config), quantization_config: { quant_method: 'fp8' } }),
    );
    await expect(openCheckpoint(folder)).rejects.toThrow('quantised weights');
  } finally {
    await rm(folder, { recursive: true });
  }
});

test('omitted settings get the default of the family', () => {
  expect(parseModelConfig(hub)).toEqual({
    family: 'llama',
    vocabularySize: 1152,
    hiddenSize: 64,
    layers: 3,
    heads: 4,
    keyValueHeads: 4,
    headSize: 16,
    intermediateSize: 160,
    maxPositions: 512,
    ropeTheta: 10_000,
    ropeScaling: undefined,
    normEpsilon: 1e-6,
    tiedHead: false,
    attentionBias: false,
    queryKeyNorm: false,
  });
});

test.each([
  [{ model_type: 'mixtral' }, 'model_type "mixtral"'],
  [{ model_type: undefined }, 'no model_type'],
  [{ hidden_act: 'gelu' }, 'hidden_act "gelu"'],
  [{ rope_scaling: { type: 'linear', factor: 2 } }, 'rope scaling "linear"'],
  [{ rope_parameters: { rope_type: 'yarn', factor: 2 } }, 'rope scaling "yarn"'],
  [{ attention_bias: true, mlp_bias: true }, 'attention_bias (a bias on o_proj); mlp_bias'],
  [{ use_sliding_window: true }, 'sliding window'],
  [{ sliding_window: 256 }, 'sliding window'],
  [{ model_type: 'qwen2', use_sliding_window: true, max_window_layers: 2 }, 'sliding window'],
  [
    { model_type: 'qwen3', layer_types: ['full_attention', 'sliding_attention'] },
    'other than full_attention',
  ],
  [
    { architectures: ['LlamaForSequenceClassification'] },
    'LlamaForSequenceClassification (only LlamaForCausalLM)',
  ],
  [{ num_local_experts: 8 }, 'a mixture of 8 experts'],
  [{ quantization_config: { bits: 4 } }, 'quantised weights'],
  [{ num_hidden_layers: 1e9 }, 'num_hidden_layers 1000000000 (at most 1024)'],
  [{ vocab_size: 1e12, head_dim: 1e6 }, 'vocab_size 1000000000000'],
])('an unsupported setting is named: %o', (change, message) => {
  const parse = () => parseModelConfig({ ...hub, ...change });
  expect(parse).toThrow(UnsupportedModel);
  expect(parse).toThrow(message);
});

test.each([
  { model_type: 'qwen2', use_sliding_window: false, sliding_window: 256, max_window_layers: 2 },
  { model_type: 'qwen2', use_sliding_window: true, sliding_window: 256, max_window_layers: 3 },
  { model_type: 'qwen3', use_sliding_window: false, sliding_window: null, max_window_layers: 3 },
  { model_type: 'qwen2', use_sliding_window: false, layer_types: Array(3).fill('full_attention') },
  { architectures: ['LlamaForCausalLM'], pretraining_tp: 1, attention_bias: false, mlp_bias: false },
])('a sliding window that is not used is accepted: %o', (change) => {
  expect(parseModelConfig({ ...hub, ...change }).layers).toBe(3);
});

test('an odd head size is refused', () => {
  expect(() => parseModelConfig({ ...hub, head_dim: 15 })).toThrow('head size of 15');
  expect(() => parseModelConfig({ ...hub, hidden_size: 66 })).toThrow('head size of 16.5');
});

test('errors name the malformed configuration field or file', async () => {
  expect(() => parseModelConfig({ ...hub, hidden_size: 'large' })).toThrow('hidden_size');
  const folder = await mkdtemp(join(tmpdir(), 'checkpoint-'));
  try {
    await expect(openCheckpoint(folder)).rejects.toThrow('config.json');
    await expect(openCheckpoint(folder)).rejects.toThrow(DamagedModel);
    await writeFile(join(folder, 'config.json'), JSON.stringify({ ...hub, eos_token_id: 5 }));
    await expect(openCheckpoint(folder)).rejects.toThrow('neither model.safetensors nor');
    const weights = new Map([['a', { shape: [1], values: Float32Array.of(1) }]]);
    await writeSafetensors(join(folder, 'part.safetensors'), weights, { dtype: 'F32' });
    const index = join(folder, 'model.safetensors.index.json');
    await writeFile(index, JSON.stringify({ weight_map: { a: 'part.safetensors', b: 'part.safetensors' } }));
    await expect(openCheckpoint(folder)).rejects.toThrow('no tensor named "b"');
    await writeFile(index, JSON.stringify({ weight_map: { a: 'part.safetensors' } }));
    const lacking = openCheckpoint(folder);
    await expect(lacking).rejects.toThrow(UnsupportedModel);
    await expect(lacking).rejects.toThrow(/no weight "model.embed_tokens.weight"; .*; and 26 more/);
    for (const elsewhere of [
      '../part.safetensors',
      join(folder, 'part.safetensors'),
      '..',
      'a/b.safetensors',
    ]) {
      await writeFile(index, JSON.stringify({ weight_map: { a: elsewhere } }));
      await expect(openCheckpoint(folder)).rejects.toThrow('a shard is a file beside its index');
    }
  } finally {
    await rm(folder, { recursive: true });
  }
});
