import type { Executor, Tensor } from '../executors/executor.ts';
import { sizeOf } from '../executors/tensor.ts';
import { reshape } from './arithmetic.ts';

/** x / rms(x) on native, x itself on wasm; and 1 / rms(x), one per row and group. */
export type RmsNormSaved =
  | { readonly normalized: Tensor; readonly inverse: Tensor }
  | { readonly input: Tensor; readonly inverse: Tensor };

const float = { T: 'float32' } as const;
const mean = { T: 'float32', Tidx: 'int32', keep_dims: true } as const;
const sum = { T: 'float32', Tidx: 'int32', keep_dims: false } as const;

/**
 * Root mean square normalisation (Zhang & Sennrich 2019): y = x / sqrt(mean(x^2) + epsilon) * gain, over n
 * values.
 *
 * @param x [rows, groups * n]
 * @param gain [n] for one group, or [groups, n]: then each group (an attention head) is normalised by itself
 * @returns [rows, n] or [rows, groups, n]
 */
export function rmsNorm(
  executor: Executor,
  x: Tensor,
  gain: Tensor,
  epsilon: number,
): { readonly output: Tensor; readonly saved: RmsNormSaved } {
  if (executor.kind === 'native') {
    const grouped = gain.shape.length === 1 ? x : reshape(executor, x, [x.shape[0]!, ...gain.shape]);
    const square = executor.run('Square', [grouped], float);
    const meanSquare = executor.run('Mean', [square, executor.integers(-1)], mean); // [..., 1]
    const shifted = executor.run('AddV2', [meanSquare, executor.scalar(epsilon)], float);
    const inverse = executor.run('Rsqrt', [shifted], float); // [..., 1]
    const normalized = executor.run('Mul', [grouped, inverse], float);
    return { output: executor.run('Mul', [normalized, gain], float), saved: { normalized, inverse } };
  }
  const width = gain.shape.at(-1)!;
  const output = executor.allocate(x.shape);
  const inverse = executor.allocate([sizeOf(x.shape) / width]);
  const [from, to, scale, gains] = [x, output, inverse, gain].map(executor.view) as Float32Array[];
  for (let row = 0, at = 0, g = 0; row < scale!.length; row++, at += width) {
    let squares = 0;
    for (let i = 0; i < width; i++) squares += from![at + i]! * from![at + i]!;
    const r = 1 / Math.sqrt(squares / width + epsilon);
    scale![row] = r;
    for (let i = 0; i < width; i++) to![at + i] = from![at + i]! * r * gains![g + i]!;
    g = g + width === gains!.length ? 0 : g + width;
  }
  return { output, saved: { input: x, inverse } };
}

/**
 * With h = x r, r the inverse root: dh = dy gain; dx = r (dh - h mean(dh h)); dgain = sum over rows of dy h.
 */
export function rmsNormVjp(
  executor: Executor,
  { saved, gain }: { readonly saved: RmsNormSaved; readonly gain: Tensor },
  dy: Tensor,
  wanted: { readonly gain: boolean },
): { readonly dx: Tensor; readonly dgain: Tensor | undefined } {
  if (executor.kind === 'native' && 'normalized' in saved) {
    const { inverse, normalized } = saved;
    const single = gain.shape.length === 1;
    const grouped = single ? dy : reshape(executor, dy, normalized.shape);
    const dh = executor.run('Mul', [grouped, gain], float);
    const along = executor.run(
      'Mean',
      [executor.run('Mul', [dh, normalized], float), executor.integers(-1)],
      mean,
    ); // [..., 1]
    const across = executor.run('Sub', [dh, executor.run('Mul', [normalized, along], float)], float);
    const scaled = executor.run('Mul', [inverse, across], float);
    const dx = single ? scaled : reshape(executor, scaled, [normalized.shape[0]!, sizeOf(gain.shape)]);
    if (!wanted.gain) return { dx, dgain: undefined };
    const product = executor.run('Mul', [grouped, normalized], float);
    return { dx, dgain: executor.run('Sum', [product, executor.integers([0])], sum) };
  }
  if (executor.kind !== 'wasm' || !('input' in saved))
    throw new Error('activations were saved on another executor');
  const width = gain.shape.at(-1)!;
  const dx = executor.allocate(saved.input.shape);
  const product = wanted.gain ? executor.allocate(gain.shape) : undefined;
  const [x, r, g, from, to] = [saved.input, saved.inverse, gain, dy, dx].map(executor.view) as Float32Array[];
  const dg = product && executor.view(product).fill(0);
  for (let row = 0, at = 0, head = 0; row < r!.length; row++, at += width) {
    const scale = r![row]!;
    let along = 0;
    for (let i = 0; i < width; i++) along += from![at + i]! * g![head + i]! * x![at + i]!;
    along *= (scale * scale) / width;
    for (let i = 0; i < width; i++) {
      to![at + i] = scale * (from![at + i]! * g![head + i]! - x![at + i]! * along);
      if (dg !== undefined) dg[head + i]! += from![at + i]! * x![at + i]! * scale;
    }
    head = head + width === g!.length ? 0 : head + width;
  }
  return { dx, dgain: product };
}
