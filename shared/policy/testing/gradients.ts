import { expect } from 'vitest';
import type { Executor, Shape, Tensor } from '../executors/executor.ts';
import { sizeOf } from '../executors/tensor.ts';
import { createRandom, normal } from '../model/random.ts';

type Inputs = Readonly<Record<string, Float32Array>>;
type Tensors = Readonly<Record<string, Tensor>>;

const random = createRandom('ops');
export const gaussian = (size: number): Float32Array =>
  Float32Array.from({ length: size }, () => normal(random));

const fromEach = <In, Out>(record: Readonly<Record<string, In>>, make: (value: In, name: string) => Out) =>
  Object.fromEntries(Object.entries(record).map(([name, value]) => [name, make(value, name)]));

/**
 * Compares gradients of sum(output * probe) with central differences of the op itself, entry by entry.
 * Rounding in f32 leaves about 1e-4 of noise at this step; the curvature of these ops adds less than 2e-3.
 */
export function checkGradients(
  executor: Executor,
  shapes: Readonly<Record<string, Shape>>,
  forward: (inputs: Inputs) => Float32Array,
  backward: (inputs: Inputs, probe: Float32Array) => Inputs,
): void {
  const inputs = fromEach(shapes, (shape) => gaussian(sizeOf(shape)));
  const before = executor.tensorCount();
  const probe = gaussian(forward(inputs).length);
  const objective = (at: Inputs): number => forward(at).reduce((sum, value, i) => sum + value * probe[i]!, 0);
  const step = 1e-2;
  const gradients = backward(inputs, probe);
  expect(Object.keys(gradients)).toEqual(Object.keys(shapes));
  for (const [name, gradient] of Object.entries(gradients)) {
    const values = inputs[name]!;
    expect(gradient.length, name).toBe(values.length);
    const scale = Math.max(1, ...gradient.map(Math.abs));
    for (let i = 0; i < values.length; i++) {
      const moved = (by: number): number =>
        objective({ ...inputs, [name]: values.map((value, j) => (j === i ? value + by : value)) });
      const slope = (moved(step) - moved(-step)) / (2 * step);
      expect(
        Math.abs(gradient[i]! - slope) / scale,
        `${name}[${i}]: ${gradient[i]} is not ${slope}`,
      ).toBeLessThan(3e-3);
    }
  }
  expect(executor.tensorCount()).toBe(before);
}

/** The same for an op of tensors: `backward` has the derivative of its output, in the output's shape. */
export function checkDerivatives(
  executor: Executor,
  shapes: Readonly<Record<string, Shape>>,
  forward: (tensors: Tensors) => Tensor,
  backward: (tensors: Tensors, dy: Tensor) => Tensors,
): void {
  const upload = (inputs: Inputs): Tensors =>
    fromEach(shapes, (shape, name) => executor.upload(inputs[name]!, shape));
  let outputShape: Shape = [];
  checkGradients(
    executor,
    shapes,
    (inputs) =>
      executor.scope(() => {
        const output = forward(upload(inputs));
        outputShape = output.shape;
        return executor.read(output);
      }),
    (inputs, probe) =>
      executor.scope(() =>
        fromEach(backward(upload(inputs), executor.upload(probe, outputShape)), (tensor) =>
          executor.read(tensor),
        ),
      ),
  );
}
