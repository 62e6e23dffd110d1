import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { readReference, referencePath } from '../testing/reference-fixtures.ts';
import { type AdapterFile, readAdapter, writeAdapter } from './adapter-files.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'adapter-'));
});
afterEach(() => rm(folder, { recursive: true }));

const module = 'base_model.model.model.layers.0.self_attn.q_proj';
const adapter: AdapterFile = {
  kind: 'lora',
  config: { rank: 2, alpha: 4, targets: ['q_proj'], baseModel: 'claw-nano' },
  tensors: new Map([
    [`${module}.lora_A.weight`, { shape: [2, 3], values: Float32Array.from([1, 2, 3, 4, 5, 6]) }],
    [`${module}.lora_B.weight`, { shape: [3, 2], values: new Float32Array(6) }],
  ]),
};

test('an adapter is read back unchanged', async () => {
  await writeAdapter(join(folder, 'a'), adapter);
  expect(await readAdapter(join(folder, 'a'))).toEqual(adapter);
});

test('invalid adapters are neither written nor read', async () => {
  const [a, b] = [...adapter.tensors];
  const write = (tensors: typeof adapter.tensors, config = adapter.config) =>
    writeAdapter(folder, { kind: 'lora', config, tensors });
  await expect(write(new Map([a!]))).rejects.toThrow('no counterpart');
  await expect(write(new Map([['x', b![1]], a!]))).rejects.toThrow('"x" is not the name');
  await expect(write(adapter.tensors, { ...adapter.config, rank: 3 })).rejects.toThrow('not match rank 3');
  await expect(write(adapter.tensors, { ...adapter.config, targets: ['k_proj'] })).rejects.toThrow('k_proj');
  await writeAdapter(folder, adapter);
  const path = join(folder, 'adapter_config.json');
  const config = JSON.parse(await readFile(path, 'utf8'));
  await writeFile(path, JSON.stringify({ ...config, use_dora: true, modules_to_save: ['lm_head'] }));
  await expect(readAdapter(folder)).rejects.toThrow('not DoRA, modules_to_save');
  await rm(join(folder, 'adapter_model.safetensors'));
  await writeFile(path, JSON.stringify(config));
  await expect(readAdapter(folder)).rejects.toThrow('adapter_model.safetensors is missing');
});

describe.each(['llama-tiny', 'qwen2-tiny', 'qwen3-tiny'])('%s', (model) => {
  test('an adapter of PEFT is written back byte by byte, with an equal configuration', async () => {
    const source = referencePath(`models/${model}/lora`);
    const file = await readAdapter(source);
    const targets = ['down_proj', 'gate_proj', 'k_proj', 'o_proj', 'q_proj', 'up_proj', 'v_proj'];
    expect(file.config).toEqual({ rank: 4, alpha: 8, targets, baseModel: model });
    await writeAdapter(folder, file);
    const name = 'adapter_model.safetensors';
    expect((await readFile(join(folder, name))).equals(await readFile(join(source, name)))).toBe(true);
    const ours = JSON.parse(await readFile(join(folder, 'adapter_config.json'), 'utf8'));
    expect(readReference(`models/${model}/lora/adapter_config.json`)).toMatchObject(ours);
  });
});
