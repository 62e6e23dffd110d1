import type { Executor, Tensor } from '../executors/executor.ts';

export type SwigluSaved =
  | { readonly gateUp: Tensor }
  | { readonly gate: Tensor; readonly up: Tensor; readonly silu: Tensor };

const float = { T: 'float32' } as const;
const split = { T: 'float32', Tlen: 'int32', num_split: 2 } as const;
const concat = { T: 'float32', Tidx: 'int32', N: 2 } as const;

/**
 * SwiGLU (Shazeer 2020): silu(gate) * up.
 * @param gateUp [rows, 2 * n], the gate's columns first
 * @returns [rows, n]
 */
export function swiglu(
  executor: Executor,
  gateUp: Tensor,
): { readonly output: Tensor; readonly saved: SwigluSaved } {
  const [rows, double] = gateUp.shape as [number, number];
  const width = double / 2;
  if (executor.kind === 'native') {
    const sizes = executor.integers([width, width]);
    const [gate, up] = executor.runMany('SplitV', [gateUp, sizes, executor.integers(1)], split, 2);
    const sigmoid = executor.run('Sigmoid', [gate!], float);
    const silu = executor.run('Mul', [gate!, sigmoid], float);
    return {
      output: executor.run('Mul', [silu, up!], float),
      // not the sigmoid: TensorFlow fuses it with the product, even if a graph returns it
      saved: { gate: gate!, up: up!, silu },
    };
  }
  const output = executor.allocate([rows, width]);
  const [from, to] = [executor.view(gateUp), executor.view(output)];
  for (let row = 0, at = 0; row < rows; row++) {
    for (let i = row * double, end = i + width; i < end; i++, at++) {
      const gate = from[i]!;
      to[at] = (gate / (1 + Math.exp(-gate))) * from[i + width]!;
    }
  }
  return { output, saved: { gateUp } };
}

/** With s = sigmoid(gate), l = gate s: dup = dy l; dgate = dy up s (1 + gate - l). Returns [rows, 2 * n]. */
export function swigluVjp(executor: Executor, saved: SwigluSaved, dy: Tensor): Tensor {
  if (executor.kind === 'native' && 'silu' in saved) {
    const { gate, up, silu } = saved;
    const sigmoid = executor.run('Sigmoid', [gate], float);
    const dup = executor.run('Mul', [dy, silu], float);
    const slope = executor.run(
      'AddV2',
      [executor.run('Sub', [gate, silu], float), executor.scalar(1)],
      float,
    );
    const dsilu = executor.run('Mul', [executor.run('Mul', [dy, up], float), sigmoid], float);
    const dgate = executor.run('Mul', [dsilu, slope], float);
    return executor.run('ConcatV2', [dgate, dup, executor.integers(1)], concat);
  }
  if (executor.kind !== 'wasm' || !('gateUp' in saved))
    throw new Error('activations were saved on another executor');
  const [rows, width] = dy.shape as [number, number];
  const out = executor.allocate([rows, 2 * width]);
  const [x, d, to] = [executor.view(saved.gateUp), executor.view(dy), executor.view(out)];
  for (let row = 0, at = 0; row < rows; row++) {
    for (let i = row * 2 * width, end = i + width; i < end; i++, at++) {
      const [gate, up] = [x[i]!, x[i + width]!];
      const sigmoid = 1 / (1 + Math.exp(-gate));
      to[i] = d[at]! * up * sigmoid * (1 + gate * (1 - sigmoid));
      to[i + width] = d[at]! * gate * sigmoid;
    }
  }
  return out;
}
