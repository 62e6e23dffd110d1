import type { Executor, NativeExecutor, Tensor } from '../executors/executor.ts';
import { reshape } from './arithmetic.ts';
import { type CrossEntropySaved, inverseTemperatures, type RowTargets } from './cross-entropy.ts';
import { type Indices, valuesOf, withIndices } from './embedding.ts';

/** Some tokens of each row, besides its target. */
export type Candidates = {
  /** per row */
  readonly count: number;
  /** tokens, [rows * count]; those of a row all differ */
  readonly ids: Int32Array;
  /** whether to compute the log-prob of all other tokens together too */
  readonly rest: boolean;
};

/** In nats. */
export type CandidateLogProbs = {
  /** [rows * count] */
  readonly logProbs: Float32Array;
  /** of all other tokens together, [rows]; empty unless requested */
  readonly rest: Float32Array;
};

/** Tensors from which readCandidates computes log-probs. */
type CandidateParts = {
  /** logits / temperature of each row's target and, after it, its candidates, [rows * (1 + count)] */
  readonly picked: Tensor;
  /** probability of all other tokens, [rows] */
  readonly rest: Tensor | undefined;
};

/** Indices of each row's tokens in flattened logits [rows * width]. */
type CandidatePlaces = {
  /** target and candidates, [rows * (1 + count)] */
  readonly all: Indices;
  /** candidates, [rows * count]; undefined: the rest is not requested */
  readonly candidates: Indices | undefined;
};

/** The smallest normal f32. Lower bound of the rest, whose log-prob could otherwise be -Infinity. */
export const LEAST_PROBABILITY = 2 ** -126;

const float = { T: 'float32' } as const;
const gather = { Tparams: 'float32', Tindices: 'int32', Taxis: 'int32', batch_dims: 0 } as const;
/** In a graph, the output reuses the memory of the input if nothing else needs it. */
const scatter = { T: 'float32', Tindices: 'int32' } as const;
const fill = { T: 'float32', index_type: 'int32' } as const;
const shapes = { T: 'int32', Tshape: 'int32' } as const;
const sum = { T: 'float32', Tidx: 'int32', keep_dims: false } as const;

/** @param targets [rows] */
export function candidatePlaces(targets: Int32Array, { count, ids, rest }: Candidates, width: number) {
  const all = new Int32Array(targets.length * (1 + count));
  const candidates = new Int32Array(targets.length * count);
  targets.forEach((target, row) => {
    all[row * (1 + count)] = row * width + target;
    for (let j = 0; j < count; j++) {
      const place = row * width + ids[row * count + j]!;
      candidates[row * count + j] = place;
      all[row * (1 + count) + 1 + j] = place;
    }
  });
  return { all, candidates: rest ? candidates : undefined };
}

/** Native only: the parts, on the executor. */
export function candidatePartsOf(
  executor: NativeExecutor,
  logits: Tensor,
  places: CandidatePlaces,
  inverse: Tensor | undefined,
): CandidateParts {
  const scaled = inverse === undefined ? logits : executor.run('Mul', [logits, inverse], float);
  const [rows, width] = scaled.shape as [number, number];
  const line = reshape(executor, scaled, [rows * width]);
  const picked = withIndices(executor, places.all, (at) =>
    executor.run('GatherV2', [line, at, executor.integers(0)], gather),
  );
  if (places.candidates === undefined) return { picked, rest: undefined };
  // The rest is summed directly: 1 minus the others would lose precision if they are nearly 1.
  const probabilities = reshape(executor, executor.run('Softmax', [scaled], float), [rows * width]);
  const others = withIndices(executor, places.candidates, (at) => {
    const nothing = executor.run('Fill', [executor.integers([...at.shape]), executor.scalar(0)], fill);
    return executor.run('TensorScatterUpdate', [probabilities, column(executor, at), nothing], scatter);
  });
  const lines = reshape(executor, others, [rows, width]);
  return { picked, rest: executor.run('Sum', [lines, executor.integers([1])], sum) };
}

/** Indices [n] as a scatter takes them, [n, 1]. */
const column = (executor: NativeExecutor, at: Tensor): Tensor =>
  executor.run('Reshape', [at, executor.integers([at.shape[0]!, 1])], shapes);

/** Native only: reads the parts back; `logProbs`: of the targets. */
export function readCandidates(
  executor: NativeExecutor,
  { picked, rest }: CandidateParts,
  logProbs: Float32Array,
  { count }: Pick<Candidates, 'count'>,
): CandidateLogProbs {
  const values = executor.read(picked);
  const result = new Float32Array(logProbs.length * count);
  logProbs.forEach((logProb, row) => {
    const at = row * (1 + count);
    for (let j = 0; j < count; j++) result[row * count + j] = values[at + 1 + j]! - values[at]! + logProb;
  });
  return {
    logProbs: result,
    rest: rest === undefined ? new Float32Array(0) : logsOf(executor.read(rest)),
  };
}

const logsOf = (probabilities: Float32Array): Float32Array =>
  probabilities.map((probability) => Math.log(Math.max(probability, LEAST_PROBABILITY)));

/**
 * Log-probs of each row's candidates.
 *
 * @param logits [rows, vocabulary]
 * @param target the result of logProbsOf for the same logits
 */
export function candidateLogProbsOf(
  executor: Executor,
  logits: Tensor,
  { targets, temperatures, candidates }: RowTargets & { readonly candidates: Candidates },
  target: { readonly logProbs: Float32Array; readonly saved: CrossEntropySaved },
): CandidateLogProbs {
  const [rows, width] = logits.shape as [number, number];
  const { count } = candidates;
  if (executor.kind === 'native') {
    return executor.scope(() => {
      const inverse = inverseTemperatures(executor, temperatures);
      const parts = candidatePartsOf(executor, logits, candidatePlaces(targets, candidates, width), inverse);
      return readCandidates(executor, parts, target.logProbs, candidates);
    });
  }
  const [values, probabilities] = [executor.view(logits), executor.view(target.saved.probabilities)];
  const logProbs = new Float32Array(rows * count);
  const rest = new Float32Array(candidates.rest ? rows : 0);
  const marked = new Uint8Array(width);
  for (let row = 0; row < rows; row++) {
    const start = row * width;
    const inverse = 1 / (temperatures?.[row] ?? 1);
    const ids = candidates.ids.subarray(row * count, (row + 1) * count);
    ids.forEach((id, j) => {
      const gap = (values[start + id]! - values[start + targets[row]!]!) * inverse;
      logProbs[row * count + j] = gap + target.logProbs[row]!;
    });
    if (!candidates.rest) continue;
    for (const id of ids) marked[id] = 1;
    let others = 0;
    for (let id = 0; id < width; id++) if (marked[id] === 0) others += probabilities[start + id]!;
    rest[row] = others;
    for (const id of ids) marked[id] = 0;
  }
  return { logProbs, rest: logsOf(rest) };
}

/** dLoss / dlogProb of the target of each row, [rows], and of its candidates, [rows * count]. */
export type RowSlopes = { readonly weights: Float32Array; readonly candidates?: Float32Array };

/** Values to add at some indices of a flattened matrix. */
type Addition<Places extends Indices = Indices> = {
  readonly places: Places;
  readonly values: Tensor;
};

/**
 * The derivative of a loss of targets and candidates. The slope of the rest is already part of the candidates'
 * slopes (withoutRest). dlogits is the sum of slope (one-hot - softmax) / temperature over the tokens of a row.
 *
 * @returns `weights`: for logProbsOfVjp, as if each target had all slopes of its row; `addition`: to dlogits,
 *   which corrects that
 */
export function candidateVjp(
  executor: Executor,
  { targets, temperatures, candidates }: RowTargets & { readonly candidates?: Candidates | undefined },
  slopes: RowSlopes,
  width: number,
): { readonly weights: Float32Array; readonly addition: Addition<Int32Array> | undefined } {
  const { weights, candidates: candidateSlopes } = slopes;
  if (candidates === undefined || candidateSlopes === undefined) return { weights, addition: undefined };
  const { count, ids } = candidates;
  const totals = weights.slice();
  const values = new Float32Array(weights.length * (1 + count));
  targets.forEach((target, row) => {
    const inverse = 1 / (temperatures?.[row] ?? 1);
    const at = row * (1 + count);
    let [total, ofTarget] = [0, 0];
    for (let j = 0; j < count; j++) {
      const slope = candidateSlopes[row * count + j]!;
      total += slope;
      // Add it once: the order of two additions at one index differs between machines.
      if (ids[row * count + j] === target) ofTarget = slope;
      else values[at + 1 + j] = slope * inverse;
    }
    values[at] = (ofTarget - total) * inverse;
    totals[row]! += total;
  });
  const places = candidatePlaces(targets, candidates, width).all;
  return { weights: totals, addition: { places, values: executor.upload(values, [values.length]) } };
}

/** Adds the values to a matrix, if there are any. Consumes the matrix. */
export function addAt(executor: Executor, matrix: Tensor, addition: Addition | undefined): Tensor {
  if (addition === undefined) return matrix;
  const { places, values } = addition;
  if (executor.kind === 'native') {
    const size = matrix.shape.reduce((product, length) => product * length, 1);
    const line = reshape(executor, matrix, [size]);
    const sums = withIndices(executor, places, (at) =>
      executor.run('TensorScatterAdd', [line, column(executor, at), values], scatter),
    );
    executor.dispose([matrix, line]);
    return reshape(executor, sums, matrix.shape);
  }
  const [into, from] = [executor.view(matrix), executor.view(values)];
  valuesOf(places).forEach((place, index) => {
    into[place]! += from[index]!;
  });
  return matrix;
}
