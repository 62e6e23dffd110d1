import type { Executor, Tensor } from '../executors/executor.ts';
import { sizeOf } from '../executors/tensor.ts';
import type { ModelConfig } from '../model/model-config.ts';

/** Rotations of some rows, on an executor; `backward` is the inverse, for derivatives. */
export type Rotations = { readonly forward: Tensor; readonly backward: Tensor | undefined };

/** Angles per position, computed on first use. */
export type RopeTable = {
  /**
   * Rotations for rows at these positions. Query heads carry the softmax scale 1 / sqrt(headSize) as well.
   * @returns tensors [positions, heads + keyValueHeads, headSize / 2] of complex numbers (last axis 2 on
   * wasm)
   */
  rotations(
    executor: Executor,
    positions: ArrayLike<number>,
    wanted: { readonly backward: boolean },
  ): Rotations;
};

/** Inverse wavelengths per pair (Su et al. 2021), stretched as in Llama 3.1 if so configured. */
export function ropeFrequencies(config: ModelConfig): readonly number[] {
  const { headSize, ropeTheta, ropeScaling: scaling } = config;
  const plain = Array.from({ length: headSize / 2 }, (_, i) => ropeTheta ** ((-2 * i) / headSize));
  if (scaling === undefined) return plain;
  return plain.map((frequency) => {
    // Rotations of a pair within the original context: many stay, few are stretched, in between is blended.
    const rotations = (scaling.originalPositions * frequency) / (2 * Math.PI);
    const { lowFrequencyFactor: low, highFrequencyFactor: high, factor } = scaling;
    const share = Math.min(1, Math.max(0, (rotations - low) / (high - low)));
    return (1 - share) * (frequency / factor) + share * frequency;
  });
}

export function createRopeTable(config: ModelConfig): RopeTable {
  const { heads, keyValueHeads, headSize } = config;
  const frequencies = ropeFrequencies(config);
  const rotatedHeads = heads + keyValueHeads;
  const queryScale = 1 / Math.sqrt(headSize);
  const angles: Float32Array[] = []; // per position: cos, sin of every pair

  const anglesAt = (position: number): Float32Array => {
    let known = angles[position];
    if (known === undefined) {
      known = Float32Array.from({ length: headSize }, (_, i) => {
        // The reference computes frequency and angle in f32, which matters at late positions.
        const angle = Math.fround(position * Math.fround(frequencies[i >> 1]!));
        return i % 2 === 0 ? Math.cos(angle) : Math.sin(angle);
      });
      angles[position] = known;
    }
    return known;
  };
  const build = (positions: ArrayLike<number>, sign: 1 | -1): Float32Array => {
    const values = new Float32Array(positions.length * rotatedHeads * headSize);
    for (let row = 0, at = 0; row < positions.length; row++) {
      const rotation = anglesAt(positions[row]!);
      for (let head = 0; head < rotatedHeads; head++) {
        const scale = head < heads ? queryScale : 1;
        for (let i = 0; i < headSize; i += 2, at += 2) {
          values[at] = rotation[i]! * scale;
          values[at + 1] = rotation[i + 1]! * scale * sign;
        }
      }
    }
    return values;
  };
  const place = (executor: Executor, values: Float32Array, rows: number): Tensor => {
    const shape = [rows, rotatedHeads, headSize / 2, 2];
    if (executor.kind === 'wasm') return executor.upload(values, shape);
    return executor.scope(() => executor.run('Bitcast', [executor.upload(values, shape)], toComplex));
  };
  return {
    rotations: (executor, positions, wanted) => ({
      forward: place(executor, build(positions, 1), positions.length),
      backward: wanted.backward ? place(executor, build(positions, -1), positions.length) : undefined,
    }),
  };
}

const toComplex = { T: 'float32', type: 'complex64' } as const;
const toFloat = { T: 'complex64', type: 'float32' } as const;
const complex = { T: 'complex64' } as const;
const reshapeFloat = { T: 'float32', Tshape: 'int32' } as const;

/**
 * Rotates every pair of neighbours of each head by its angle. Rows of weights are stored so that the pairs
 * (i, i + headSize / 2) of the published models are neighbours; see layout.ts.
 *
 * @param x batch * positions rows of [heads + keyValueHeads, headSize], in any shape
 * @param rotation one of `Rotations`, repeated for every sequence of the batch
 * @returns [batch, positions, heads + keyValueHeads, headSize], or as rows: [batch * positions, all of a
 * row's heads]
 */
export function rope(
  executor: Executor,
  x: Tensor,
  rotation: Tensor,
  as: 'heads' | 'rows' = 'heads',
): Tensor {
  const [positions, heads, pairs] = rotation.shape as [number, number, number];
  const rowSize = heads * pairs * 2;
  const batch = sizeOf(x.shape) / (positions * rowSize);
  const shape = as === 'heads' ? [batch, positions, heads, pairs * 2] : [batch * positions, rowSize];
  if (executor.kind === 'native') {
    const split = executor.run(
      'Reshape',
      [x, executor.integers([batch, positions, heads, pairs, 2])],
      reshapeFloat,
    );
    const rotated = executor.run('Mul', [executor.run('Bitcast', [split], toComplex), rotation], complex);
    const joined = executor.run('Bitcast', [rotated], toFloat); // [batch, positions, heads, pairs, 2]
    return executor.run('Reshape', [joined, executor.integers(shape)], reshapeFloat);
  }
  const out = executor.allocate(shape);
  const [from, angle, to] = [executor.view(x), executor.view(rotation), executor.view(out)];
  for (let i = 0, r = 0; i < to.length; i += 2) {
    const [re, im, cos, sin] = [from[i]!, from[i + 1]!, angle[r]!, angle[r + 1]!];
    to[i] = re * cos - im * sin;
    to[i + 1] = re * sin + im * cos;
    r = r + 2 === angle.length ? 0 : r + 2;
  }
  return out;
}

/** The derivative of a rotation is its inverse. Returns rows. */
export const ropeVjp = (executor: Executor, dy: Tensor, { backward }: Rotations): Tensor =>
  rope(executor, dy, backward!, 'rows');
