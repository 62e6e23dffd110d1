import type { AdapterFile } from '../checkpoints/adapter-files.ts';
import type { Executor, Tensor } from '../executors/executor.ts';
import { add } from '../ops/arithmetic.ts';
import { type Linear, type LinearGradients, type LowRank, uploadMatrix } from '../ops/linear.ts';
import { matmul } from '../ops/matmul.ts';
import { copyRows, type LinearLayout, type LinearName, layerPrefix, linearLayouts } from './layout.ts';
import type { ModelConfig } from './model-config.ts';
import { createRandom } from './random.ts';
import type { LayerWeights } from './weights.ts';

/** The projections that an adapter may change, by the last part of their names, as PEFT lists them. */
const loraTargets = ['q_proj', 'k_proj', 'v_proj', 'o_proj', 'gate_proj', 'up_proj', 'down_proj'] as const;
type LoraTarget = (typeof loraTargets)[number];

export type LoraSettings = {
  readonly rank: number;
  /** Updates are scaled by alpha / rank. */
  readonly alpha: number;
  readonly targets?: readonly LoraTarget[];
  readonly seed: number | string;
};

/** Low-rank updates of each layer's stacked projections, on an executor. */
export type LoraLayer = Readonly<Record<LinearName, LowRank | undefined>>;

const parameterName = (layer: number, path: string, side: 'A' | 'B'): string =>
  `base_model.model.${layerPrefix(layer)}${path}.lora_${side}.weight`;

const targetOf = (path: string): string => path.slice(path.indexOf('.') + 1);

/** A new adapter: A uniform in +-1 / sqrt(in) as in PEFT, B zero, so that it changes nothing yet. */
export function createLora(config: ModelConfig, settings: LoraSettings): AdapterFile {
  const { rank, alpha, targets = loraTargets, seed } = settings;
  const random = createRandom(seed);
  const tensors = new Map<string, { shape: readonly number[]; values: Float32Array }>();
  for (let layer = 0; layer < config.layers; layer++) {
    for (const { inputs, parts } of Object.values(linearLayouts(config))) {
      for (const { path, rows } of parts.filter((part) =>
        targets.some((target) => target === targetOf(part.path)),
      )) {
        const bound = 1 / Math.sqrt(inputs);
        const a = Float32Array.from({ length: rank * inputs }, () => (2 * random() - 1) * bound);
        tensors.set(parameterName(layer, path, 'A'), { shape: [rank, inputs], values: a });
        tensors.set(parameterName(layer, path, 'B'), {
          shape: [rows, rank],
          values: new Float32Array(rows * rank),
        });
      }
    }
  }
  return { kind: 'lora', config: { rank, alpha, targets }, tensors };
}

/** Names and shapes of the tensors of an adapter for all projections. */
export function loraShapes(config: ModelConfig, rank: number): ReadonlyMap<string, readonly number[]> {
  const shapes = new Map<string, readonly number[]>();
  for (let layer = 0; layer < config.layers; layer++)
    for (const { inputs, parts } of Object.values(linearLayouts(config)))
      for (const { path, rows } of parts) {
        shapes.set(parameterName(layer, path, 'A'), [rank, inputs]);
        shapes.set(parameterName(layer, path, 'B'), [rows, rank]);
      }
  return shapes;
}

/** Calls `visit` with the row of each adapted part in its stack, and its index among the adapted parts. */
function eachPart(
  layout: LinearLayout,
  file: AdapterFile,
  layer: number,
  visit: (part: LinearLayout['parts'][number], row: number, index: number) => void,
): number {
  let row = 0;
  let index = 0;
  for (const part of layout.parts) {
    if (file.tensors.has(parameterName(layer, part.path, 'A'))) visit(part, row, index++);
    row += part.rows;
  }
  return index;
}

/**
 * Uploads an adapter for stacked projections: the parts' A above one another, their B (times alpha / rank) as
 * blocks on the diagonal. The caller owns the tensors.
 *
 * @throws Error if a tensor does not fit the model, or belongs to a projection that the model does not have
 */
export function uploadLora(executor: Executor, config: ModelConfig, file: AdapterFile): readonly LoraLayer[] {
  checkFit(config, file);
  const { rank, alpha } = file.config;
  const { headSize } = config;
  const upload = (layer: number, layout: LinearLayout): LowRank | undefined => {
    const { inputs, outputs } = layout;
    const count = eachPart(layout, file, layer, () => {});
    if (count === 0) return undefined;
    const a = new Float32Array(count * rank * inputs);
    const b = new Float32Array(outputs * count * rank);
    eachPart(layout, file, layer, (part, row, index) => {
      a.set(file.tensors.get(parameterName(layer, part.path, 'A'))!.values, index * rank * inputs);
      const block = file.tensors
        .get(parameterName(layer, part.path, 'B'))!
        .values.map((value) => (value * alpha) / rank);
      const ordered = new Float32Array(block.length);
      copyRows({ values: block, row: 0 }, { values: ordered, row: 0 }, { ...part, width: rank, headSize });
      for (let i = 0; i < part.rows; i++) {
        b.set(ordered.subarray(i * rank, (i + 1) * rank), ((row + i) * count + index) * rank);
      }
    });
    return {
      a: uploadMatrix(executor, a, count * rank, inputs),
      b: uploadMatrix(executor, b, outputs, count * rank),
    };
  };
  const layouts = linearLayouts(config);
  return executor.scope(() =>
    Array.from({ length: config.layers }, (_, layer) => ({
      queryKey: upload(layer, layouts.queryKey),
      value: upload(layer, layouts.value),
      output: upload(layer, layouts.output),
      gateUp: upload(layer, layouts.gateUp),
      down: upload(layer, layouts.down),
    })),
  );
}

/**
 * New matrices W + b a for every adapted projection, so that decoding is as fast as without an adapter.
 * Matrices that are not adapted are shared with `layers`. Dispose of `merged`.
 */
export function mergeLora(
  executor: Executor,
  layers: readonly LayerWeights[],
  lora: readonly LoraLayer[],
): { readonly layers: readonly LayerWeights[]; readonly merged: readonly Tensor[] } {
  const created: Tensor[] = [];
  const merge = ({ matrix, bias }: Linear, lowRank: LowRank | undefined): Linear => {
    if (lowRank === undefined) return { matrix, bias };
    const { a, b } = lowRank;
    const merged = executor.scope(() => add(executor, matrix, matmul(executor, a, b)));
    created.push(merged);
    return { matrix: merged, bias };
  };
  const mergedLayers = layers.map((layer, index) => ({
    ...layer,
    queryKey: merge(layer.queryKey, lora[index]!.queryKey),
    value: merge(layer.value, lora[index]!.value),
    output: merge(layer.output, lora[index]!.output),
    gateUp: merge(layer.gateUp, lora[index]!.gateUp),
    down: merge(layer.down, lora[index]!.down),
  }));
  return { layers: mergedLayers, merged: created };
}

/**
 * Reads one layer's adapter gradients, by PEFT's names. Blocks off the diagonal are not parameters.
 */
export function readLoraGradients(
  executor: Executor,
  { config, file }: { readonly config: ModelConfig; readonly file: AdapterFile },
  layer: number,
  gradients: Readonly<Record<LinearName, LinearGradients>>,
): Map<string, Float32Array> {
  const { rank, alpha } = file.config;
  const result = new Map<string, Float32Array>();
  for (const [name, layout] of Object.entries(linearLayouts(config)) as [LinearName, LinearLayout][]) {
    const { a, b } = gradients[name];
    if (a === undefined || b === undefined) continue;
    const [da, db] = [executor.read(a), executor.read(b)];
    const width = db.length / layout.outputs;
    eachPart(layout, file, layer, (part, row, index) => {
      const start = index * rank * layout.inputs;
      result.set(parameterName(layer, part.path, 'A'), da.slice(start, start + rank * layout.inputs));
      const block = new Float32Array(part.rows * rank);
      for (let i = 0; i < part.rows; i++) {
        const from = (row + i) * width + index * rank;
        for (let j = 0; j < rank; j++) block[i * rank + j] = (db[from + j]! * alpha) / rank;
      }
      const ordered = new Float32Array(block.length);
      const interleaving = { ...part, width: rank, headSize: config.headSize, back: true };
      copyRows({ values: block, row: 0 }, { values: ordered, row: 0 }, interleaving);
      result.set(parameterName(layer, part.path, 'B'), ordered);
    });
  }
  return result;
}

function checkFit(config: ModelConfig, file: AdapterFile): void {
  const { rank } = file.config;
  const expected = new Map<string, readonly number[]>();
  for (let layer = 0; layer < config.layers; layer++) {
    for (const { inputs, parts } of Object.values(linearLayouts(config))) {
      for (const { path, rows } of parts) {
        expected
          .set(parameterName(layer, path, 'A'), [rank, inputs])
          .set(parameterName(layer, path, 'B'), [rows, rank]);
      }
    }
  }
  for (const [name, { shape }] of file.tensors) {
    const wanted = expected.get(name);
    if (wanted === undefined) throw new Error(`the adapter has ${name}, which this model does not have`);
    if (String(wanted) !== String(shape))
      throw new Error(`adapter tensor ${name} has shape [${shape}], but the model needs [${wanted}]`);
    const partner = name.includes('.lora_A.')
      ? name.replace('.lora_A.', '.lora_B.')
      : name.replace('.lora_B.', '.lora_A.');
    if (!file.tensors.has(partner)) throw new Error(`the adapter has ${name} without ${partner}`);
  }
}
