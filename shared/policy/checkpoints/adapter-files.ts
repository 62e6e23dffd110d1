import { existsSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { readSafetensors, type TensorData, writeSafetensors } from './safetensors.ts';

type AdapterConfig = {
  readonly rank: number;
  /** The update is scaled by alpha / rank. */
  readonly alpha: number;
  /** Last names (`q_proj`) of the modules that have an update, sorted. */
  readonly targets: readonly string[];
  readonly baseModel?: string;
};

/**
 * A LoRA adapter with PEFT's tensor names: `base_model.model.model.layers.0.self_attn.q_proj.lora_A.weight`,
 * [r, in]; lora_B, [out, r].
 */
export type AdapterFile = {
  readonly kind: 'lora';
  readonly config: AdapterConfig;
  readonly tensors: ReadonlyMap<string, TensorData>;
};

const configName = 'adapter_config.json';
const weightsName = 'adapter_model.safetensors';
/** The files that other readers of PEFT's format need. */
export const adapterFileNames: readonly string[] = [configName, weightsName];

const PeftConfig = z.looseObject({
  peft_type: z.string(),
  r: z.int().min(1),
  lora_alpha: z.number(),
  base_model_name_or_path: z.string().nullish(),
  bias: z.string().default('none'),
  fan_in_fan_out: z.boolean().nullish(),
  use_dora: z.boolean().nullish(),
  use_rslora: z.boolean().nullish(),
  lora_bias: z.boolean().nullish(),
  rank_pattern: z.record(z.string(), z.unknown()).nullish(),
  alpha_pattern: z.record(z.string(), z.unknown()).nullish(),
  modules_to_save: z.array(z.string()).nullish(),
});
type PeftConfig = z.infer<typeof PeftConfig>;

const tensorName = /^base_model\.model\.(.+)\.lora_([AB])\.weight$/;

/**
 * Reads an adapter folder as PEFT writes it. Takes the targets from the tensors, because `target_modules` may be a
 * pattern. Throws if it is not plain LoRA, or if a tensor has an unknown name, a wrong rank or no counterpart.
 */
export async function readAdapter(folder: string): Promise<AdapterFile> {
  const path = join(folder, configName);
  const parsed = PeftConfig.safeParse(JSON.parse(await readFile(path, 'utf8')));
  if (!parsed.success) throw new Error(`${path} is malformed: ${z.prettifyError(parsed.error)}`);
  const peft = parsed.data;
  const faults = unsupported(peft);
  if (faults.length > 0) throw new Error(`${path}: only plain LoRA is supported, not ${faults.join(', ')}`);

  const weightsPath = join(folder, weightsName);
  if (!existsSync(weightsPath)) throw new Error(`${folder}: ${weightsName} is missing`);
  const file = await readSafetensors(weightsPath);
  const tensors = new Map(
    file.names.map((name) => [name, { shape: file.shape(name), values: file.float32(name) }] as const),
  );
  const config: AdapterConfig = {
    rank: peft.r,
    alpha: peft.lora_alpha,
    targets: checkTensors(tensors, peft.r),
    ...(peft.base_model_name_or_path != null && { baseModel: peft.base_model_name_or_path }),
  };
  return { kind: 'lora', config, tensors };
}

function unsupported(peft: PeftConfig): readonly string[] {
  const checks: readonly (readonly [boolean, string])[] = [
    [peft.peft_type !== 'LORA', `peft_type ${peft.peft_type}`],
    [peft.bias !== 'none', `bias "${peft.bias}"`],
    [peft.fan_in_fan_out === true, 'fan_in_fan_out'],
    [peft.use_dora === true, 'DoRA'],
    [peft.use_rslora === true, 'rank-stabilised scaling (use_rslora)'],
    [peft.lora_bias === true, 'lora_bias'],
    [Object.keys(peft.rank_pattern ?? {}).length > 0, 'rank_pattern'],
    [Object.keys(peft.alpha_pattern ?? {}).length > 0, 'alpha_pattern'],
    [(peft.modules_to_save?.length ?? 0) > 0, 'modules_to_save'],
  ];
  return checks.filter(([fails]) => fails).map(([, name]) => name);
}

/** Checks names, shapes and pairs; returns the targets. */
function checkTensors(tensors: AdapterFile['tensors'], rank: number): readonly string[] {
  const targets = new Set<string>();
  for (const [name, { shape }] of tensors) {
    const [, module, factor] = tensorName.exec(name) ?? [];
    if (module === undefined) throw new Error(`"${name}" is not the name of a LoRA tensor`);
    const ranks = factor === 'A' ? shape[0] : shape[1];
    if (shape.length !== 2 || ranks !== rank)
      throw new Error(`"${name}" has shape [${shape}], which does not match rank ${rank}`);
    const other = `base_model.model.${module}.lora_${factor === 'A' ? 'B' : 'A'}.weight`;
    if (!tensors.has(other)) throw new Error(`"${name}" has no counterpart "${other}"`);
    targets.add(module.slice(module.lastIndexOf('.') + 1));
  }
  return [...targets].sort();
}

/**
 * Writes an adapter as PEFT does, f32, so that PEFT, vLLM and SGLang can load it. The same adapter gives the same
 * bytes. Creates the folder. Throws like readAdapter if a tensor is invalid.
 */
export async function writeAdapter(folder: string, adapter: AdapterFile): Promise<void> {
  const { config, tensors } = adapter;
  const targets = checkTensors(tensors, config.rank);
  if (tensors.size > 0 && targets.join() !== [...config.targets].sort().join()) {
    throw new Error(`the adapter lists the targets ${config.targets}, but its tensors belong to ${targets}`);
  }
  await mkdir(folder, { recursive: true });
  await writeSafetensors(join(folder, weightsName), tensors, { dtype: 'F32', metadata: { format: 'pt' } });
  await writeFile(join(folder, configName), `${JSON.stringify(peftConfig(config), null, 2)}\n`);
}

/** The fields that PEFT and other readers use, sorted by name as PEFT writes them. */
function peftConfig(config: AdapterConfig): Readonly<Record<string, unknown>> {
  return {
    alpha_pattern: {},
    auto_mapping: null,
    base_model_name_or_path: config.baseModel ?? null,
    bias: 'none',
    fan_in_fan_out: false,
    inference_mode: true,
    init_lora_weights: true,
    layers_pattern: null,
    layers_to_transform: null,
    lora_alpha: config.alpha,
    lora_dropout: 0,
    modules_to_save: null,
    peft_type: 'LORA',
    r: config.rank,
    rank_pattern: {},
    revision: null,
    target_modules: [...config.targets].sort(),
    task_type: 'CAUSAL_LM',
    use_dora: false,
    use_rslora: false,
  };
}
