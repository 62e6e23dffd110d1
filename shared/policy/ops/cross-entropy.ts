import type { Executor, NativeExecutor, Tensor } from '../executors/executor.ts';
import { type Indices, withIndices } from './embedding.ts';

/** [rows, vocabulary]; on native softmax minus one-hot, on wasm the softmax. */
export type CrossEntropySaved = { readonly probabilities: Tensor };

const float = { T: 'float32' } as const;
const xent = { T: 'float32', Tlabels: 'int32' } as const;

const hasTemperature = (temperatures: Float32Array | undefined): temperatures is Float32Array =>
  temperatures?.some((temperature) => temperature !== 1) ?? false;

const column = (executor: Executor, values: Float32Array): Tensor =>
  executor.upload(values, [values.length, 1]);

/** 1 / temperature per row, [rows, 1]; undefined when all are 1. */
export const inverseTemperatures = (
  executor: NativeExecutor,
  temperatures: Float32Array | undefined,
): Tensor | undefined =>
  hasTemperature(temperatures)
    ? column(
        executor,
        temperatures.map((temperature) => 1 / temperature),
      )
    : undefined;

/** Native only: -log softmax(logits / temperature)[target] per row, [rows], on the executor. */
export function lossesOf(
  executor: NativeExecutor,
  logits: Tensor,
  targets: Indices,
  inverse: Tensor | undefined,
): { readonly losses: Tensor; readonly saved: CrossEntropySaved } {
  const scaled = inverse === undefined ? logits : executor.run('Mul', [logits, inverse], float);
  return withIndices(executor, targets, (labels) => {
    const [losses, backprop] = executor.runMany(
      'SparseSoftmaxCrossEntropyWithLogits',
      [scaled, labels],
      xent,
      2,
    );
    return { losses: losses!, saved: { probabilities: backprop! } };
  });
}

/** The target token of each row, and the temperature of its distribution. */
export type RowTargets = {
  /** [rows] */
  readonly targets: Int32Array;
  /** [rows]; undefined: all are 1 */
  readonly temperatures?: Float32Array | undefined;
};

/** Reads losses back as log-probs. */
export const negatedLosses = (executor: NativeExecutor, losses: Tensor): Float32Array =>
  executor.read(losses).map((nll) => -nll);

/**
 * Log-probabilities of one target per row: log softmax(logits / temperature)[target], in nats.
 *
 * @param logits [rows, vocabulary]
 * @param temperatures one per row; default: all are 1
 */
export function logProbsOf(
  executor: Executor,
  logits: Tensor,
  targets: Int32Array,
  temperatures?: Float32Array,
): { readonly logProbs: Float32Array; readonly saved: CrossEntropySaved } {
  if (executor.kind === 'native') {
    const inverse = inverseTemperatures(executor, temperatures);
    const { losses, saved } = lossesOf(executor, logits, targets, inverse);
    return { logProbs: negatedLosses(executor, losses), saved };
  }
  const width = logits.shape[1]!;
  const probabilities = executor.allocate(logits.shape);
  const [from, to] = [executor.view(logits), executor.view(probabilities)];
  const logProbs = new Float32Array(targets.length);
  for (let row = 0, start = 0; row < targets.length; row++, start += width) {
    const inverse = 1 / (temperatures?.[row] ?? 1);
    let max = -Infinity;
    for (let i = start; i < start + width; i++) if (from[i]! > max) max = from[i]!;
    let sum = 0;
    for (let i = start; i < start + width; i++) {
      const e = Math.exp((from[i]! - max) * inverse);
      to[i] = e;
      sum += e;
    }
    for (let i = start; i < start + width; i++) to[i]! /= sum;
    logProbs[row] = (from[start + targets[row]!]! - max) * inverse - Math.log(sum);
  }
  return { logProbs, saved: { probabilities } };
}

/** The factor of the saved `softmax - one-hot` per row; weights: dL / dlogProb. */
export const lossScale = (weights: Float32Array, temperatures: Float32Array | undefined): Float32Array =>
  weights.map((weight, row) => -weight / (temperatures?.[row] ?? 1));

/** Native only: dlogits, given lossScale [rows, 1]. */
export const lossesOfVjp = (executor: NativeExecutor, saved: CrossEntropySaved, scale: Tensor): Tensor =>
  executor.run('Mul', [saved.probabilities, scale], float);

/** dlogits = weight (one-hot - softmax) / temperature, where weight is dL / dlogProb per row. */
export function logProbsOfVjp(
  executor: Executor,
  saved: CrossEntropySaved,
  { targets, temperatures }: RowTargets,
  weights: Float32Array,
): Tensor {
  if (executor.kind === 'native') {
    return lossesOfVjp(executor, saved, column(executor, lossScale(weights, temperatures)));
  }
  const scale = lossScale(weights, temperatures);
  const width = saved.probabilities.shape[1]!;
  const out = executor.allocate(saved.probabilities.shape);
  const [from, to] = [executor.view(saved.probabilities), executor.view(out)];
  for (let row = 0, start = 0; row < targets.length; row++, start += width) {
    const factor = scale[row]!;
    for (let i = start; i < start + width; i++) to[i] = from[i]! * factor;
    to[start + targets[row]!]! -= factor;
  }
  return out;
}
