import { Tokenizer } from '@huggingface/tokenizers';
import type { Tensor, WasmExecutor } from '../../../../shared/policy/executors/executor.ts';
import type { EncoderFile, EncoderSizes } from './read-encoder.ts';

/** A longer text is not a person's reaction. Characters, before it is cut into tokens. */
const LONGEST_TEXT = 600;
/** Added to the variance when a row is normalised. */
const EPSILON = 1e-12;

export type Encoder = {
  /** Scores of a text in the columns of the file; undefined: it is too long to be a person's reaction. */
  readonly read: (text: string) => Float32Array | undefined;
};

/**
 * A bidirectional transformer (BERT, Devlin et al. 2019) with the mean over all positions as the text's vector
 * (Reimers and Gurevych 2019) and a linear head. Matrices are multiplied by the executor.
 */
export function createEncoder(executor: WasmExecutor, file: EncoderFile): Encoder {
  const { sizes, vector } = file;
  const tokenizer = new Tokenizer(file.tokenizer, {});
  const layers = executor.detached(() =>
    Array.from({ length: sizes.layers }, (_, layer) => uploadLayer(executor, file, layer)),
  );
  const normalised = (rows: Float32Array, name: string): Float32Array =>
    normalise(rows, vector(`${name}.weight`), vector(`${name}.bias`));

  const embed = (ids: readonly number[]): Float32Array => {
    const rows = new Float32Array(ids.length * sizes.hidden);
    const positions = vector('positions');
    for (const [place, id] of ids.entries()) {
      const row = rows.subarray(place * sizes.hidden, (place + 1) * sizes.hidden);
      file.embed(id, row);
      for (let at = 0; at < sizes.hidden; at += 1) row[at]! += positions[place * sizes.hidden + at]!;
    }
    return normalised(rows, 'embedding.norm');
  };

  const through = (input: Float32Array, layer: Layer, name: string): Float32Array => {
    const mixed = attend(layer.project(input, 'qkv'), sizes);
    const attended = normalised(add(layer.project(mixed, 'out'), input), `${name}.attention.norm`);
    const inner = gelu(layer.project(attended, 'up'));
    return normalised(add(layer.project(inner, 'down'), attended), `${name}.mlp.norm`);
  };

  const read = (text: string): Float32Array | undefined => {
    if (text.length > LONGEST_TEXT) return undefined;
    const { ids } = tokenizer.encode(text);
    if (ids.length > sizes.positions) return undefined;
    return executor.scope(() => {
      const rows = layers.reduce(
        (input, layer, index) => through(input, layer, `layers.${index}`),
        embed(ids),
      );
      return headScores(file, meanRow(rows, sizes.hidden));
    });
  };
  return { read };
}

/** Matrices of a layer: queries, keys and values stacked; the output of the attention; the two of the MLP. */
const matrices = ['qkv', 'out', 'up', 'down'] as const;
type MatrixName = (typeof matrices)[number];

type Layer = {
  /** `rows` [length, in] times the matrix, plus its bias: [length, out] */
  readonly project: (rows: Float32Array, name: MatrixName) => Float32Array;
};

function uploadLayer(executor: WasmExecutor, file: EncoderFile, layer: number): Layer {
  const uploaded = new Map<MatrixName, { readonly matrix: Tensor; readonly bias: Float32Array }>();
  for (const name of matrices) {
    const { inputs, outputs, fill } = file.matrix(`layers.${layer}.${name}`);
    const matrix = executor.allocate([inputs, outputs]);
    fill(executor.view(matrix));
    uploaded.set(name, { matrix, bias: file.vector(`layers.${layer}.${name}.bias`) });
  }
  return {
    project: (rows, name) => {
      const { matrix, bias } = uploaded.get(name)!;
      const [inputs] = matrix.shape as readonly [number, number];
      const product = executor.matmul(executor.upload(rows, [rows.length / inputs, inputs]), matrix);
      return addToRows(executor.read(product), bias);
    },
  };
}

/** Self-attention of all positions to all. `stacked`: queries, keys and values, [length, 3 x hidden]. */
function attend(stacked: Float32Array, { hidden, heads }: EncoderSizes): Float32Array {
  const length = stacked.length / (3 * hidden);
  const size = hidden / heads;
  const mixed = new Float32Array(length * hidden);
  const weights = new Float64Array(length);
  for (let head = 0; head < heads; head += 1)
    for (let place = 0; place < length; place += 1) {
      const query = place * 3 * hidden + head * size;
      let most = Number.NEGATIVE_INFINITY;
      for (let other = 0; other < length; other += 1) {
        const key = other * 3 * hidden + hidden + head * size;
        let score = 0;
        for (let at = 0; at < size; at += 1) score += stacked[query + at]! * stacked[key + at]!;
        weights[other] = score / Math.sqrt(size);
        most = Math.max(most, weights[other]!);
      }
      let sum = 0;
      for (let other = 0; other < length; other += 1) {
        weights[other] = Math.exp(weights[other]! - most);
        sum += weights[other]!;
      }
      const target = place * hidden + head * size;
      for (let other = 0; other < length; other += 1) {
        const value = other * 3 * hidden + 2 * hidden + head * size;
        const weight = weights[other]! / sum;
        for (let at = 0; at < size; at += 1) mixed[target + at]! += weight * stacked[value + at]!;
      }
    }
  return mixed;
}

function add(sum: Float32Array, other: Float32Array): Float32Array {
  for (let at = 0; at < sum.length; at += 1) sum[at]! += other[at]!;
  return sum;
}

/** Adds a vector to each row, in place. */
function addToRows(rows: Float32Array, vector: Float32Array): Float32Array {
  for (let from = 0; from < rows.length; from += vector.length)
    for (let at = 0; at < vector.length; at += 1) rows[from + at]! += vector[at]!;
  return rows;
}

/** Layer normalisation of each row, in place. */
function normalise(rows: Float32Array, gain: Float32Array, shift: Float32Array): Float32Array {
  const width = gain.length;
  for (let from = 0; from < rows.length; from += width) {
    let [sum, squares] = [0, 0];
    for (let at = 0; at < width; at += 1) sum += rows[from + at]!;
    const mean = sum / width;
    for (let at = 0; at < width; at += 1) squares += (rows[from + at]! - mean) ** 2;
    const scale = 1 / Math.sqrt(squares / width + EPSILON);
    for (let at = 0; at < width; at += 1)
      rows[from + at] = (rows[from + at]! - mean) * scale * gain[at]! + shift[at]!;
  }
  return rows;
}

/** Gaussian error linear units (Hendrycks and Gimpel 2016), in place. */
function gelu(values: Float32Array): Float32Array {
  for (let at = 0; at < values.length; at += 1)
    values[at] = (values[at]! * (1 + errorFunction(values[at]! * Math.SQRT1_2))) / 2;
  return values;
}

/** Abramowitz and Stegun 7.1.26; error below 1.5e-7. */
function errorFunction(value: number): number {
  const size = Math.abs(value);
  const t = 1 / (1 + 0.3275911 * size);
  const sum =
    t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))));
  const part = 1 - sum * Math.exp(-size * size);
  return value < 0 ? -part : part;
}

function meanRow(rows: Float32Array, width: number): Float32Array {
  const mean = new Float32Array(width);
  const length = rows.length / width;
  for (let from = 0; from < rows.length; from += width)
    for (let at = 0; at < width; at += 1) mean[at]! += rows[from + at]! / length;
  return mean;
}

function headScores({ vector, sizes }: EncoderFile, row: Float32Array): Float32Array {
  const head = vector('head.weight');
  const scores = vector('head.bias').slice();
  for (let column = 0; column < scores.length; column += 1)
    for (let at = 0; at < sizes.hidden; at += 1)
      scores[column]! += head[column * sizes.hidden + at]! * row[at]!;
  return scores;
}
