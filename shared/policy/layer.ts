import type { Executor, Tensor } from './executors/executor.ts';
import type { LinearName } from './layout.ts';
import type { LoraLayer } from './lora.ts';
import type { ModelConfig } from './model-config.ts';
import { add } from './ops/arithmetic.ts';
import { type AttentionSaved, type AttentionShape, attentionVjp } from './ops/attention.ts';
import { type LinearSaved, linear, linearVjp } from './ops/linear.ts';
import { type RmsNormSaved, rmsNorm, rmsNormVjp } from './ops/rms-norm.ts';
import { type Rotations, rope, ropeVjp } from './ops/rope.ts';
import { type SwigluSaved, swiglu, swigluVjp } from './ops/swiglu.ts';
import type { LayerGradients, LayerWeights } from './weights.ts';

/**
 * How the rows of a layer see each other: as whole sequences, or as one new row per sequence over a cache.
 */
export type Attend = (
  queryKey: Tensor,
  value: Tensor,
) => { readonly output: Tensor; readonly saved: AttentionSaved | undefined };

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
  config: ModelConfig,
  weights: LayerWeights,
  lora: LoraLayer | undefined,
  x: Tensor,
  rotation: Tensor,
  attend: Attend,
): { readonly output: Tensor; readonly saved: LayerSaved } {
  const epsilon = config.normEpsilon;
  const apply = (name: LinearName, input: Tensor) => linear(executor, input, weights[name], lora?.[name]);

  const attentionNorm = rmsNorm(executor, x, weights.attentionNorm, epsilon); // [rows, hidden]
  const queryKey = apply('queryKey', attentionNorm.output); // [rows, (heads + keyValueHeads) * headSize]
  const value = apply('value', attentionNorm.output); // [rows, keyValueHeads * headSize]
  const queryKeyNorm =
    weights.queryKeyNorm && rmsNorm(executor, queryKey.output, weights.queryKeyNorm, epsilon);
  // [batch, positions, heads + keyValueHeads, headSize]
  const turned = rope(executor, queryKeyNorm?.output ?? queryKey.output, rotation);
  const attended = attend(turned, value.output); // [rows, heads * headSize]
  const output = apply('output', attended.output); // [rows, hidden]
  const middle = add(executor, x, output.output);

  const mlpNorm = rmsNorm(executor, middle, weights.mlpNorm, epsilon); // [rows, hidden]
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

/**
 * Derivatives of one layer. `weights: false` leaves those of frozen weights out: only the adapter's are made.
 */
export function layerBackward(
  executor: Executor,
  weights: LayerWeights,
  lora: LoraLayer | undefined,
  saved: LayerSaved,
  dy: Tensor,
  context: { readonly shape: AttentionShape; readonly rotations: Rotations },
  wanted: { readonly weights: boolean },
): { readonly dx: Tensor; readonly gradients: LayerGradients } {
  const gain = { gain: wanted.weights };
  const apply = (name: LinearName, gradient: Tensor) =>
    linearVjp(executor, saved[name], weights[name], lora?.[name], gradient, wanted);

  const down = apply('down', dy);
  const gateUp = apply('gateUp', swigluVjp(executor, saved.swiglu, down.dx));
  const mlpNorm = rmsNormVjp(executor, saved.mlpNorm, weights.mlpNorm, gateUp.dx, gain);
  const dmiddle = add(executor, dy, mlpNorm.dx);

  const output = apply('output', dmiddle);
  const { dqueryKey, dvalue } = attentionVjp(executor, saved.attention!, output.dx, context.shape);
  const unturned = ropeVjp(executor, dqueryKey, context.rotations);
  const queryKeyNorm =
    weights.queryKeyNorm && rmsNormVjp(executor, saved.queryKeyNorm!, weights.queryKeyNorm, unturned, gain);
  const queryKey = apply('queryKey', queryKeyNorm?.dx ?? unturned);
  const value = apply('value', dvalue);
  const dnormed = add(executor, queryKey.dx, value.dx);
  const attentionNorm = rmsNormVjp(executor, saved.attentionNorm, weights.attentionNorm, dnormed, gain);
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
