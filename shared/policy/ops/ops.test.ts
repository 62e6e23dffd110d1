import { expect, test } from 'vitest';
import type { Executor, Shape, Tensor } from '../executors/executor.ts';
import { sizeOf } from '../executors/tensor.ts';
import type { ModelConfig } from '../model-config.ts';
import { createRandom, normal } from '../random.ts';
import { describeOnBackends, largestDifference } from '../test-backends.ts';
import { add, addToRows, columnSums } from './arithmetic.ts';
import { attention, attentionVjp, causalBlocks } from './attention.ts';
import { logProbsOf, logProbsOfVjp } from './cross-entropy.ts';
import { gatherRows, gatherRowsVjp } from './embedding.ts';
import { type Linear, type LowRank, linear, linearVjp, uploadMatrix } from './linear.ts';
import { matmul, matmulVjp } from './matmul.ts';
import { rmsNorm, rmsNormVjp } from './rms-norm.ts';
import { createRopeTable, rope, ropeFrequencies, ropeVjp } from './rope.ts';
import { swiglu, swigluVjp } from './swiglu.ts';

const random = createRandom('ops');
const gaussian = (size: number): Float32Array => Float32Array.from({ length: size }, () => normal(random));

type Inputs = Readonly<Record<string, Float32Array>>;

/**
 * Compares gradients of sum(output * probe) with central differences of the op itself, entry by entry.
 * Rounding in f32 leaves about 1e-4 of noise at this step; the curvature of these ops adds less than 2e-3.
 */
function checkGradients(
  executor: Executor,
  inputs: Inputs,
  forward: (inputs: Inputs) => Float32Array,
  backward: (inputs: Inputs, probe: Float32Array) => Inputs,
): void {
  const before = executor.tensorCount();
  const probe = gaussian(forward(inputs).length);
  const objective = (at: Inputs): number => forward(at).reduce((sum, value, i) => sum + value * probe[i]!, 0);
  const step = 1e-2;
  for (const [name, gradient] of Object.entries(backward(inputs, probe))) {
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

describeOnBackends('derivatives equal finite differences', (open) => {
  /** Uploads inputs under shapes, runs `body` in a scope and reads what it returns. */
  const run = (
    executor: Executor,
    inputs: Inputs,
    shapes: Readonly<Record<string, Shape>>,
    body: (tensors: Record<string, Tensor>) => Tensor,
  ) => executor.scope(() => executor.read(body(upload(executor, inputs, shapes))));
  const upload = (
    executor: Executor,
    inputs: Inputs,
    shapes: Readonly<Record<string, Shape>>,
  ): Record<string, Tensor> =>
    Object.fromEntries(
      Object.entries(shapes).map(([name, shape]) => [name, executor.upload(inputs[name]!, shape)]),
    );
  const fill = (shapes: Readonly<Record<string, Shape>>): Inputs =>
    Object.fromEntries(Object.entries(shapes).map(([name, shape]) => [name, gaussian(sizeOf(shape))]));

  test('matmul', async () => {
    const executor = await open();
    const shapes = { a: [5, 3], b: [3, 4] };
    checkGradients(
      executor,
      fill(shapes),
      (inputs) => run(executor, inputs, shapes, ({ a, b }) => matmul(executor, a!, b!)),
      (inputs, probe) =>
        executor.scope(() => {
          const { a, b } = upload(executor, inputs, shapes);
          const { da, db } = matmulVjp(executor, a!, b!, executor.upload(probe, [5, 4]));
          return { a: executor.read(da), b: executor.read(db) };
        }),
    );
  });

  test('add, and add to rows', async () => {
    const executor = await open();
    const shapes = { a: [4, 3], b: [4, 3], bias: [3] };
    checkGradients(
      executor,
      fill(shapes),
      (inputs) =>
        run(executor, inputs, shapes, ({ a, b, bias }) => addToRows(executor, add(executor, a!, b!), bias!)),
      (_, probe) => ({
        a: probe,
        b: probe,
        bias: executor.scope(() => executor.read(columnSums(executor, executor.upload(probe, [4, 3])))),
      }),
    );
  });

  test.each([1, 3])('rmsNorm, %i groups', async (groups) => {
    const executor = await open();
    const shapes = { x: [4, groups * 6], gain: groups === 1 ? [6] : [groups, 6] };
    checkGradients(
      executor,
      fill(shapes),
      (inputs) => run(executor, inputs, shapes, ({ x, gain }) => rmsNorm(executor, x!, gain!, 1e-6).output),
      (inputs, probe) =>
        executor.scope(() => {
          const { x, gain } = upload(executor, inputs, shapes);
          const { saved } = rmsNorm(executor, x!, gain!, 1e-6);
          const { dx, dgain } = rmsNormVjp(executor, saved, gain!, executor.upload(probe, shapes.x), {
            gain: true,
          });
          return { x: executor.read(dx), gain: executor.read(dgain!) };
        }),
    );
  });

  test('linear with bias and a low-rank update', async () => {
    const executor = await open();
    const shapes = { x: [5, 4], weight: [6, 4], bias: [6], a: [2, 4], b: [6, 2] };
    const layer = (inputs: Inputs): { main: Linear; lowRank: LowRank } => ({
      main: {
        matrix: uploadMatrix(executor, inputs.weight!, 6, 4),
        bias: executor.upload(inputs.bias!, [6]),
      },
      lowRank: { a: uploadMatrix(executor, inputs.a!, 2, 4), b: uploadMatrix(executor, inputs.b!, 6, 2) },
    });
    checkGradients(
      executor,
      fill(shapes),
      (inputs) =>
        executor.scope(() => {
          const { main, lowRank } = layer(inputs);
          return executor.read(linear(executor, executor.upload(inputs.x!, shapes.x), main, lowRank).output);
        }),
      (inputs, probe) =>
        executor.scope(() => {
          const { main, lowRank } = layer(inputs);
          const { saved } = linear(executor, executor.upload(inputs.x!, shapes.x), main, lowRank);
          const dy = executor.upload(probe, [5, 6]);
          const { dx, gradients } = linearVjp(executor, saved, main, lowRank, dy, { weights: true });
          const { weight, bias, a, b } = gradients;
          return Object.fromEntries(
            Object.entries({ x: dx, weight, bias, a, b }).map(([name, t]) => [name, executor.read(t!)]),
          );
        }),
    );
  });

  const headConfig = { heads: 4, keyValueHeads: 2, headSize: 4, ropeTheta: 100, ropeScaling: undefined };
  const config = headConfig as ModelConfig;

  test('rope', async () => {
    const executor = await open();
    const table = createRopeTable(config);
    const shapes = { x: [6, 24] };
    const positions = [0, 1, 5];
    checkGradients(
      executor,
      fill(shapes),
      (inputs) =>
        run(executor, inputs, shapes, ({ x }) =>
          rope(executor, x!, table.rotations(executor, positions, { backward: false }).forward),
        ),
      (_, probe) =>
        executor.scope(() => {
          const rotations = table.rotations(executor, positions, { backward: true });
          return { x: executor.read(ropeVjp(executor, executor.upload(probe, shapes.x), rotations)) };
        }),
    );
  });

  test('attention', async () => {
    const executor = await open();
    const [batch, positions] = [2, 5];
    const shape = { batch, positions, ...headConfig };
    const shapes = { queryKey: [batch, positions, 6, 4], value: [batch * positions, 8] };
    checkGradients(
      executor,
      fill(shapes),
      (inputs) =>
        run(
          executor,
          inputs,
          shapes,
          ({ queryKey, value }) =>
            attention(
              executor,
              queryKey!,
              value!,
              shape,
              causalBlocks(executor, positions, { backward: true }),
            ).output,
        ),
      (inputs, probe) =>
        executor.scope(() => {
          const { queryKey, value } = upload(executor, inputs, shapes);
          const { saved } = attention(
            executor,
            queryKey!,
            value!,
            shape,
            causalBlocks(executor, positions, { backward: true }),
          );
          const dy = executor.upload(probe, [batch * positions, 16]);
          const { dqueryKey, dvalue } = attentionVjp(executor, saved, dy, shape);
          return { queryKey: executor.read(dqueryKey), value: executor.read(dvalue) };
        }),
    );
  });

  test('swiglu', async () => {
    const executor = await open();
    const shapes = { gateUp: [4, 6] };
    checkGradients(
      executor,
      fill(shapes),
      (inputs) => run(executor, inputs, shapes, ({ gateUp }) => swiglu(executor, gateUp!).output),
      (inputs, probe) =>
        executor.scope(() => {
          const { saved } = swiglu(executor, executor.upload(inputs.gateUp!, shapes.gateUp));
          return { gateUp: executor.read(swigluVjp(executor, saved, executor.upload(probe, [4, 3]))) };
        }),
    );
  });

  test('gatherRows, rows repeated and left out', async () => {
    const executor = await open();
    const shapes = { table: [5, 3] };
    const rows = Int32Array.of(4, 0, 4, 2);
    checkGradients(
      executor,
      fill(shapes),
      (inputs) => run(executor, inputs, shapes, ({ table }) => gatherRows(executor, table!, rows)),
      (_, probe) =>
        executor.scope(() => ({
          table: executor.read(gatherRowsVjp(executor, rows, 5, executor.upload(probe, [4, 3]))),
        })),
    );
  });

  test.each([undefined, Float32Array.of(1, 0.7, 2)])(
    'log-probs of targets, temperatures %o',
    async (temperatures) => {
      const executor = await open();
      const shapes = { logits: [3, 7] };
      const targets = Int32Array.of(6, 0, 3);
      checkGradients(
        executor,
        fill(shapes),
        (inputs) =>
          executor.scope(
            () =>
              logProbsOf(executor, executor.upload(inputs.logits!, shapes.logits), targets, temperatures)
                .logProbs,
          ),
        (inputs, probe) =>
          executor.scope(() => {
            const { saved } = logProbsOf(
              executor,
              executor.upload(inputs.logits!, shapes.logits),
              targets,
              temperatures,
            );
            return { logits: executor.read(logProbsOfVjp(executor, saved, targets, probe, temperatures)) };
          }),
      );
    },
  );
});

describeOnBackends('closed forms', (open) => {
  test('log-probs of very unlikely targets are finite and exact', async () => {
    const executor = await open();
    const logits = Float32Array.of(0, 500, -500, 0);
    const { logProbs } = executor.scope(() =>
      logProbsOf(executor, executor.upload(logits, [1, 4]), Int32Array.of(2)),
    );
    expect(logProbs[0]).toBeCloseTo(-1000, 3);
  });

  test('the first position attends to itself alone, the last to all', async () => {
    const executor = await open();
    const shape = { batch: 1, positions: 3, heads: 1, keyValueHeads: 1, headSize: 2 };
    const value = Float32Array.of(1, 2, 3, 4, 5, 6);
    const output = executor.scope(() => {
      const queryKey = executor.upload(new Float32Array(12), [1, 3, 2, 2]); // all scores 0: plain means
      const mask = causalBlocks(executor, 3, { backward: false });
      return executor.read(attention(executor, queryKey, executor.upload(value, [3, 2]), shape, mask).output);
    });
    expect([...output]).toEqual([1, 2, 2, 3, 3, 4].map((wanted) => expect.closeTo(wanted, 5)));
  });

  test('the derivative of attention in blocks is that of attention in one', async () => {
    const executor = await open();
    // Up to 255 positions are one block; from 256 on there are several. What is put behind changes nothing.
    const heads = { batch: 2, heads: 4, keyValueHeads: 2, headSize: 4 };
    const [short, long] = [250, 290];
    const inputs = { queryKey: gaussian(2 * long * 24), value: gaussian(2 * long * 8) };
    const probe = gaussian(2 * long * 16);
    const gradients = (positions: number) =>
      executor.scope(() => {
        const shape = { ...heads, positions };
        const upTo = (values: Float32Array, width: number): Float32Array =>
          Float32Array.from({ length: 2 * positions * width }, (_, i) => {
            const [row, column] = [Math.floor(i / width), i % width];
            const [sequence, position] = [Math.floor(row / positions), row % positions];
            return values[(sequence * long + position) * width + column]!;
          });
        const queryKey = executor.upload(upTo(inputs.queryKey, 24), [2, positions, 6, 4]);
        const value = executor.upload(upTo(inputs.value, 8), [2 * positions, 8]);
        const dy = upTo(probe, 16).map((slope, i) => (Math.floor(i / 16) % positions < short ? slope : 0));
        const blocks = causalBlocks(executor, positions, { backward: true });
        const { saved } = attention(executor, queryKey, value, shape, blocks);
        const made = attentionVjp(executor, saved, executor.upload(dy, [2 * positions, 16]), shape);
        const all = [executor.read(made.dqueryKey), executor.read(made.dvalue)] as const;
        const seen = (values: Float32Array, width: number) =>
          values.filter((_, i) => Math.floor(i / width) % positions < short);
        return Float32Array.from([...seen(all[0], 24), ...seen(all[1], 8)]);
      });
    expect(largestDifference(gradients(short), gradients(long))).toBeLessThan(1e-5);
  });

  test('attention in blocks is attention', async () => {
    const executor = await open();
    const shape = { batch: 2, positions: 600, heads: 4, keyValueHeads: 2, headSize: 4 };
    const inputs = { queryKey: gaussian(2 * 600 * 24), value: gaussian(2 * 600 * 8) };
    const compute = (backward: boolean) =>
      executor.scope(() => {
        const queryKey = executor.upload(inputs.queryKey, [2, 600, 6, 4]);
        const value = executor.upload(inputs.value, [1200, 8]);
        const blocks = causalBlocks(executor, 600, { backward });
        return executor.read(attention(executor, queryKey, value, shape, blocks).output);
      });
    expect(largestDifference(compute(false), compute(true))).toBeLessThan(1e-5);
  });

  test('a tensor used after its scope is refused', async () => {
    const executor = await open();
    const before = executor.tensorCount();
    let leaked: Tensor | undefined;
    executor.scope(() => {
      leaked = executor.upload(Float32Array.of(1), [1]);
    });
    expect(() => executor.read(leaked!)).toThrow(/disposed/);
    expect(() => executor.scope(() => executor.upload(Float32Array.of(1), [1]) && raise())).toThrow('raised');
    expect(executor.tensorCount()).toBe(before);
  });
});

function raise(): never {
  throw new Error('raised');
}

test('Llama 3 stretches long wavelengths by its factor, leaves short ones, and blends between', () => {
  const scaling = {
    type: 'llama3',
    factor: 8,
    lowFrequencyFactor: 1,
    highFrequencyFactor: 4,
    originalPositions: 64,
  } as const;
  const plain = ropeFrequencies({ headSize: 16, ropeTheta: 10_000, ropeScaling: undefined } as ModelConfig);
  const scaled = ropeFrequencies({ headSize: 16, ropeTheta: 10_000, ropeScaling: scaling } as ModelConfig);
  const ratios = plain.map((frequency, i) => frequency / scaled[i]!);
  expect(ratios[0]).toBe(1);
  expect(ratios.at(-1)).toBeCloseTo(8);
  expect(ratios.some((ratio) => ratio > 1.01 && ratio < 7.9)).toBe(true);
});
