import type { Executor, Tensor } from '../executors/executor.ts';

/** `softmaxMinusOneHot` on native; the probabilities themselves, [rows, vocabulary], on wasm. */
export type CrossEntropySaved = { readonly probabilities: Tensor };

const float = { T: 'float32' } as const;
const xent = { T: 'float32', Tlabels: 'int32' } as const;

const anyOther = (temperatures: Float32Array | undefined): temperatures is Float32Array =>
  temperatures?.some((temperature) => temperature !== 1) ?? false;

const column = (executor: Executor, values: Float32Array): Tensor =>
  executor.upload(values, [values.length, 1]);

/**
 * Log-probabilities of one target per row: log softmax(logits / temperature)[target], in nats.
 *
 * @param logits [rows, vocabulary]
 * @param temperatures one per row; left out, all are 1
 */
export function logProbsOf(
  executor: Executor,
  logits: Tensor,
  targets: Int32Array,
  temperatures?: Float32Array,
): { readonly logProbs: Float32Array; readonly saved: CrossEntropySaved } {
  if (executor.kind === 'native') {
    const scaled = anyOther(temperatures)
      ? executor.run(
          'Mul',
          [
            logits,
            column(
              executor,
              temperatures.map((temperature) => 1 / temperature),
            ),
          ],
          float,
        )
      : logits;
    const labels = executor.upload(targets, [targets.length]);
    const [loss, backprop] = executor.runMany(
      'SparseSoftmaxCrossEntropyWithLogits',
      [scaled, labels],
      xent,
      2,
    );
    return { logProbs: executor.read(loss!).map((nll) => -nll), saved: { probabilities: backprop! } };
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

/** dlogits = weight (one-hot - softmax) / temperature, where weight is dL / dlogProb per row. */
export function logProbsOfVjp(
  executor: Executor,
  saved: CrossEntropySaved,
  targets: Int32Array,
  weights: Float32Array,
  temperatures?: Float32Array,
): Tensor {
  const scale = weights.map((weight, row) => -weight / (temperatures?.[row] ?? 1));
  if (executor.kind === 'native') {
    return executor.run('Mul', [saved.probabilities, column(executor, scale)], float);
  }
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
