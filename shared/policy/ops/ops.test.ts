import { expect, test } from 'vitest';
import type { Tensor } from '../executors/executor.ts';
import type { ModelConfig } from '../model/model-config.ts';
import { describeOnBackends } from '../testing/backends.ts';
import { checkDerivatives, checkGradients } from '../testing/gradients.ts';
import { add, addToRows, columnSums } from './arithmetic.ts';
import { attention, attentionVjp, causalBlocks } from './attention.ts';
import { logProbsOf, logProbsOfVjp } from './cross-entropy.ts';
import { gatherRows, gatherRowsVjp } from './embedding.ts';
import { type Linear, type LowRank, linear, linearVjp, uploadMatrix } from './linear.ts';
import { matmul } from './matmul.ts';
import { rmsNorm, rmsNormVjp } from './rms-norm.ts';
import { createRopeTable, rope, ropeVjp } from './rope.ts';
import { swiglu, swigluVjp } from './swiglu.ts';

describeOnBackends('derivatives equal finite differences', (open) => {
  test('matmul', async () => {
    const executor = await open();
    checkDerivatives(
      executor,
      { a: [5, 3], b: [3, 4] },
      ({ a, b }) => matmul(executor, a!, b!),
      ({ a, b }, dy) => {
        const da = matmul(executor, dy, b!, { transposeB: true });
        const db = matmul(executor, a!, dy, { transposeA: true });
        return { a: da, b: db };
      },
    );
  });

  test('add, and add to rows', async () => {
    const executor = await open();
    checkDerivatives(
      executor,
      { a: [4, 3], b: [4, 3], bias: [3] },
      ({ a, b, bias }) => addToRows(executor, add(executor, a!, b!), bias!),
      (_, dy) => ({ a: dy, b: dy, bias: columnSums(executor, dy) }),
    );
  });

  test.each([1, 3])('rmsNorm, %i groups', async (groups) => {
    const executor = await open();
    checkDerivatives(
      executor,
      { x: [4, groups * 6], gain: groups === 1 ? [6] : [groups, 6] },
      ({ x, gain }) => rmsNorm(executor, x!, gain!, 1e-6).output,
      ({ x, gain }, dy) => {
        const { saved } = rmsNorm(executor, x!, gain!, 1e-6);
        const { dx, dgain } = rmsNormVjp(executor, { saved, gain: gain! }, dy, { gain: true });
        return { x: dx, gain: dgain! };
      },
    );
  });

  test('linear with bias and a low-rank update', async () => {
    const executor = await open();
    const shapes = { x: [5, 4], weight: [6, 4], bias: [6], a: [2, 4], b: [6, 2] };
    const layer = (inputs: Readonly<Record<string, Float32Array>>): { main: Linear; lowRank: LowRank } => ({
      main: {
        matrix: uploadMatrix(executor, inputs.weight!, 6, 4),
        bias: executor.upload(inputs.bias!, [6]),
      },
      lowRank: { a: uploadMatrix(executor, inputs.a!, 2, 4), b: uploadMatrix(executor, inputs.b!, 6, 2) },
    });
    checkGradients(
      executor,
      shapes,
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
          const { dx, gradients } = linearVjp(executor, { ...main, lowRank, saved }, dy, { weights: true });
          const { weight, bias, a, b } = gradients;
          return Object.fromEntries(
            Object.entries({ x: dx, weight, bias, a, b }).map(([name, t]) => [name, executor.read(t!)]),
          );
        }),
    );
  });

  const heads = { heads: 4, keyValueHeads: 2, headSize: 4 };

  test('rope', async () => {
    const executor = await open();
    const table = createRopeTable({ ...heads, ropeTheta: 100, ropeScaling: undefined } as ModelConfig);
    const positions = [0, 1, 5];
    checkDerivatives(
      executor,
      { x: [6, 24] },
      ({ x }) => rope(executor, x!, table.rotations(executor, positions, { backward: false }).forward),
      (_, dy) => ({ x: ropeVjp(executor, dy, table.rotations(executor, positions, { backward: true })) }),
    );
  });

  test('attention', async () => {
    const executor = await open();
    const [batch, positions] = [2, 5];
    const shape = { batch, positions, ...heads };
    const blocks = () => causalBlocks(executor, positions, { backward: true });
    checkDerivatives(
      executor,
      { queryKey: [batch, positions, 6, 4], value: [batch * positions, 8] },
      ({ queryKey, value }) =>
        attention(executor, { queryKey: queryKey!, value: value! }, shape, blocks()).output,
      ({ queryKey, value }, dy) => {
        const { saved } = attention(executor, { queryKey: queryKey!, value: value! }, shape, blocks());
        const { dqueryKey, dvalue } = attentionVjp(executor, saved, dy, shape);
        return { queryKey: dqueryKey, value: dvalue };
      },
    );
  });

  test('swiglu', async () => {
    const executor = await open();
    checkDerivatives(
      executor,
      { gateUp: [4, 6] },
      ({ gateUp }) => swiglu(executor, gateUp!).output,
      ({ gateUp }, dy) => ({ gateUp: swigluVjp(executor, swiglu(executor, gateUp!).saved, dy) }),
    );
  });

  test('gatherRows with repeated and omitted rows', async () => {
    const executor = await open();
    const rows = Int32Array.of(4, 0, 4, 2);
    checkDerivatives(
      executor,
      { table: [5, 3] },
      ({ table }) => gatherRows(executor, table!, rows),
      (_, dy) => ({ table: gatherRowsVjp(executor, rows, 5, dy) }),
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
        shapes,
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
            return {
              logits: executor.read(logProbsOfVjp(executor, saved, { targets, temperatures }, probe)),
            };
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

  test('a tensor cannot be used after its scope', async () => {
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
