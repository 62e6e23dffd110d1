import type { Executor, Tensor } from '../executors/executor.ts';
import { add } from '../ops/arithmetic.ts';
import { type AttentionSaved, attentionVjp } from '../ops/attention.ts';
import type { AttentionShape, QueriesKeysValues } from '../ops/attention-shape.ts';
import { type LinearSaved, linear, linearVjp } from '../ops/linear.ts';
import { type RmsNormSaved, rmsNorm, rmsNormVjp } from '../ops/rms-norm.ts';
import { type Rotations, rope, ropeVjp } from '../ops/rope.ts';
import { type SwigluSaved, swiglu, swigluVjp } from '../ops/swiglu.ts';
import type { LinearName } from './layout.ts';
import type { LoraLayer } from './lora.ts';
import type { LayerGradients, LayerWeights } from './weights.ts';

/**
 * How the rows of a layer see each other: as whole sequences, or as one new row per sequence over a cache.
 */
type Attend = (inputs: QueriesKeysValues) => {
  readonly output: Tensor;
  readonly saved: AttentionSaved | undefined;
};

/** The weights of one layer, with the low-rank updates of its adapter, if it has one. */
export type Layer = {
  readonly weights: LayerWeights;
  readonly lora: LoraLayer | undefined;
};

/** What the rows of one forward pass share over all layers. */
export type RowContext = {
  readonly normEpsilon: number;
  /** RoPE of the rows. */
  readonly rotation: Tensor;
  readonly attend: Attend;
};

export type LayerSaved = Readonly<Record<LinearName, LinearSaved>> & {
  readonly attentionNorm: RmsNormSaved;
  readonly queryKeyNorm: RmsNormSaved | undefined;
  readonly attention: AttentionSaved | undefined;
  readonly mlpNorm: RmsNormSaved;
  readonly swiglu: SwigluSaved;
};

/** One layer: x + attention(norm(x)), then x + mlp(norm(x)). */
export function layerForward(
  executor: Executor,
  { weights, lora }: Layer,
  x: Tensor,
  { normEpsilon, rotation, attend }: RowContext,
): { readonly output: Tensor; readonly saved: LayerSaved } {
  const apply = (name: LinearName, input: Tensor) => linear(executor, input, weights[name], lora?.[name]);

  const attentionNorm = rmsNorm(executor, x, weights.attentionNorm, normEpsilon); // [rows, hidden]
  const queryKey = apply('queryKey', attentionNorm.output); // [rows, (heads + keyValueHeads) * headSize]
  const value = apply('value', attentionNorm.output); // [rows, keyValueHeads * headSize]
  const queryKeyNorm =
    weights.queryKeyNorm && rmsNorm(executor, queryKey.output, weights.queryKeyNorm, normEpsilon);
  // [batch, positions, heads + keyValueHeads, headSize]
  const rotated = rope(executor, queryKeyNorm?.output ?? queryKey.output, rotation);
  const attended = attend({ queryKey: rotated, value: value.output }); // [rows, heads * headSize]
  const output = apply('output', attended.output); // [rows, hidden]
  const middle = add(executor, x, output.output);

  const mlpNorm = rmsNorm(executor, middle, weights.mlpNorm, normEpsilon); // [rows, hidden]
  const gateUp = apply('gateUp', mlpNorm.output); // [rows, 2 * intermediate]
  const gated = swiglu(executor, gateUp.output); // [rows, intermediate]
  const down = apply('down', gated.output); // [rows, hidden]
  return {
    output: add(executor, middle, down.output),
    saved: {
      attentionNorm: attentionNorm.saved,
      queryKey: queryKey.saved,
      value: value.saved,
      queryKeyNorm: queryKeyNorm?.saved,
      attention: attended.saved,
      output: output.saved,
      mlpNorm: mlpNorm.saved,
      gateUp: gateUp.saved,
      swiglu: gated.saved,
      down: down.saved,
    },
  };
}

/** What the derivatives of all layers share. */
type LayerBackwardContext = {
  readonly shape: AttentionShape;
  readonly rotations: Rotations;
  /** weights: false when only an adapter trains */
  readonly wanted: { readonly weights: boolean };
};

/** Derivatives of one layer. With `weights: false` only those of the adapter are computed. */
export function layerBackward(
  executor: Executor,
  { weights, lora }: Layer,
  { saved, dy }: { readonly saved: LayerSaved; readonly dy: Tensor },
  { shape, rotations, wanted }: LayerBackwardContext,
): { readonly dx: Tensor; readonly gradients: LayerGradients } {
  const gain = { gain: wanted.weights };
  const apply = (name: LinearName, gradient: Tensor) =>
    linearVjp(executor, { ...weights[name], lowRank: lora?.[name], saved: saved[name] }, gradient, wanted);
  const normVjp = (name: 'attentionNorm' | 'mlpNorm', gradient: Tensor) =>
    rmsNormVjp(executor, { saved: saved[name], gain: weights[name] }, gradient, gain);

  const down = apply('down', dy);
  const gateUp = apply('gateUp', swigluVjp(executor, saved.swiglu, down.dx));
  const mlpNorm = normVjp('mlpNorm', gateUp.dx);
  const dmiddle = add(executor, dy, mlpNorm.dx);

  const output = apply('output', dmiddle);
  const { dqueryKey, dvalue } = attentionVjp(executor, saved.attention!, output.dx, shape);
  const unrotated = ropeVjp(executor, dqueryKey, rotations);
  const queryKeyNorm =
    weights.queryKeyNorm &&
    rmsNormVjp(executor, { saved: saved.queryKeyNorm!, gain: weights.queryKeyNorm }, unrotated, gain);
  const queryKey = apply('queryKey', queryKeyNorm?.dx ?? unrotated);
  const value = apply('value', dvalue);
  const dnormed = add(executor, queryKey.dx, value.dx);
  const attentionNorm = normVjp('attentionNorm', dnormed);
  return {
    dx: add(executor, dmiddle, attentionNorm.dx),
    gradients: {
      attentionNorm: attentionNorm.dgain,
      queryKey: queryKey.gradients,
      queryKeyNorm: queryKeyNorm?.dgain,
      value: value.gradients,
      output: output.gradients,
      mlpNorm: mlpNorm.dgain,
      gateUp: gateUp.gradients,
      down: down.gradients,
    },
  };
}
