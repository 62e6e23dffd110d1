import type { Executor, Tensor } from '../executors/executor.ts';
import type { NativeExecutor } from '../executors/native.ts';
import { reshape } from './arithmetic.ts';
import { type CrossEntropySaved, inverseTemperatures } from './cross-entropy.ts';
import { type Indices, valuesOf, withIndices } from './embedding.ts';

/** Some tokens of each row, beside its target. */
export type Candidates = {
  /** per row */
  readonly count: number;
  /** tokens, [rows * count]; those of a row all differ */
  readonly ids: Int32Array;
  /** whether all other tokens together are wanted too */
  readonly rest: boolean;
};

/** In nats. */
export type CandidateLogProbs = {
  /** [rows * count] */
  readonly logProbs: Float32Array;
  /** of all other tokens together, [rows]; empty unless wanted */
  readonly rest: Float32Array;
};

/** What is read back to make log-probs of. */
export type CandidateParts = {
  /** logits / temperature of each row's target and, after it, its candidates, [rows * (1 + count)] */
  readonly picked: Tensor;
  /** probability of all other tokens, [rows] */
  readonly rest: Tensor | undefined;
};

/** Where the tokens of each row stand among logits [rows, width], row by row. */
export type CandidatePlaces = {
  /** target and candidates, [rows * (1 + count)] */
  readonly all: Indices;
  /** candidates, [rows * count]; undefined: the rest is not wanted */
  readonly candidates: Indices | undefined;
};

/** Taken for a rest of less, whose log-prob would be -Infinity. The least that f32 holds in full. */
export const LEAST_PROBABILITY = 2 ** -126;

const float = { T: 'float32' } as const;
const gather = { Tparams: 'float32', Tindices: 'int32', Taxis: 'int32', batch_dims: 0 } as const;
/** In a graph the input's own memory becomes the output, where nothing else needs it. */
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
  // What is left is summed up itself: 1 minus the others would lose it where they are nearly everything.
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
 * Log-probs of each row's candidates, given what logProbsOf made of the same logits.
 *
 * @param logits [rows, vocabulary]
 * @param targets [rows]
 */
export function candidateLogProbsOf(
  executor: Executor,
  logits: Tensor,
  targets: Int32Array,
  candidates: Candidates,
  target: { readonly logProbs: Float32Array; readonly saved: CrossEntropySaved },
  temperatures?: Float32Array,
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

/** Values at some places of a matrix, counted row by row. */
export type Addition<Places extends Indices = Indices> = {
  readonly places: Places;
  readonly values: Tensor;
};

/**
 * What the derivative of a loss of targets and candidates is made of, where the rest's part in it has gone
 * into the candidates' slopes already (withoutRest). dlogits is the sum of slope (one-hot - softmax) /
 * temperature over all of a row.
 *
 * @returns `weights`: for logProbsOfVjp, as if each target had all of its row's slopes; `addition`: to
 *   dlogits, which puts that right
 */
export function candidateVjp(
  executor: Executor,
  targets: Int32Array,
  candidates: Candidates | undefined,
  slopes: RowSlopes,
  width: number,
  temperatures?: Float32Array,
): { readonly weights: Float32Array; readonly addition: Addition<Int32Array> | undefined } {
  const { weights, candidates: own } = slopes;
  if (candidates === undefined || own === undefined) return { weights, addition: undefined };
  const { count, ids } = candidates;
  const totals = weights.slice();
  const values = new Float32Array(weights.length * (1 + count));
  targets.forEach((target, row) => {
    const inverse = 1 / (temperatures?.[row] ?? 1);
    const at = row * (1 + count);
    let [total, ofTarget] = [0, 0];
    for (let j = 0; j < count; j++) {
      const slope = own[row * count + j]!;
      total += slope;
      // added once: the order of two additions at one place is not the same everywhere
      if (ids[row * count + j] === target) ofTarget = slope;
      else values[at + 1 + j] = slope * inverse;
    }
    values[at] = (ofTarget - total) * inverse;
    totals[row]! += total;
  });
  const places = candidatePlaces(targets, candidates, width).all;
  return { weights: totals, addition: { places, values: executor.upload(values, [values.length]) } };
}

/** A matrix with an addition, or as it is. The one given is used up. */
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
