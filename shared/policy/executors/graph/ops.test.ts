import { describe, expect, test } from 'vitest';
import { createRandom, normal } from '../../model/random.ts';
import { largestDifference } from '../../testing/backends.ts';
import { nativeInstalled, openNative } from '../native.ts';
import type { Attributes } from '../op-attributes.ts';
import { type Shape, sizeOf, type Tensor } from '../tensor.ts';
import { outputsOf, UnknownOp } from './shapes.ts';

/** An input: values of a shape, positive where `above` says so; `integers`; or row numbers. */
type Input =
  | { readonly shape: Shape; readonly above?: number }
  | { readonly rows: readonly number[]; readonly shape?: Shape }
  | Sizes;
type Sizes = { readonly integers: readonly number[] | number };

type Case = readonly [op: string, inputs: readonly Input[], attributes: Attributes, outputs?: number];

const float = { T: 'float32' } as const;
const of = (...shape: number[]): Input => ({ shape });
const integers = (values: readonly number[] | number): Input => ({ integers: values });
const reduce = (keep_dims: boolean) => ({ T: 'float32', Tidx: 'int32', keep_dims }) as const;

/** Every op of shared/policy/ops, in each of its forms. */
const cases: readonly Case[] = [
  ['AddV2', [of(3, 1, 4), of(2, 4)], float],
  ['Mul', [of(3, 4), of(3, 1)], float],
  ['Sub', [of(3, 4), of(3, 4)], float],
  ['BiasAdd', [of(3, 4), of(4)], float],
  ['Square', [of(3, 4)], float],
  ['Rsqrt', [{ shape: [3, 4], above: 0.1 }], float],
  ['Sigmoid', [of(3, 4)], float],
  ['Softmax', [of(2, 3, 4)], float],
  ['Mean', [of(3, 4), integers(-1)], reduce(true)],
  ['Sum', [of(3, 4), integers([0])], reduce(false)],
  ['Sum', [of(2, 3, 4), integers([-1])], reduce(true)],
  ['MatMul', [of(3, 4), of(4, 5)], { ...float, transpose_a: false, transpose_b: false }],
  ['MatMul', [of(3, 4), of(5, 4)], { ...float, transpose_a: false, transpose_b: true }],
  ['MatMul', [of(4, 3), of(4, 5)], { ...float, transpose_a: true, transpose_b: false }],
  ['BatchMatMulV2', [of(2, 1, 3, 4), of(1, 2, 5, 4)], { ...float, adj_x: false, adj_y: true }],
  ['BatchMatMulV2', [of(2, 4, 3), of(2, 4, 5)], { ...float, adj_x: true, adj_y: false }],
  ['Reshape', [of(3, 4), integers([2, 6])], { ...float, Tshape: 'int32' }],
  ['Transpose', [of(2, 3, 4), integers([0, 2, 1])], { ...float, Tperm: 'int32' }],
  ['SplitV', [of(2, 7, 2), integers([3, 4]), integers(1)], { ...float, Tlen: 'int32', num_split: 2 }, 2],
  ['ConcatV2', [of(2, 3), of(2, 4), integers(1)], { ...float, Tidx: 'int32', N: 2 }],
  ['Slice', [of(4, 5), integers([1, 2]), integers([2, 3])], { ...float, Index: 'int32' }],
  ['Fill', [integers([2, 3]), of()], { ...float, index_type: 'int32' }],
  [
    'GatherV2',
    [of(5, 3), { rows: [4, 0, 4] }, integers(0)],
    { Tparams: 'float32', Tindices: 'int32', Taxis: 'int32', batch_dims: 0 },
  ],
  [
    'UnsortedSegmentSum',
    [of(3, 2), { rows: [1, 4, 1] }, integers(6)],
    { ...float, Tindices: 'int32', Tnumsegments: 'int32' },
  ],
  ['SparseSoftmaxCrossEntropyWithLogits', [of(3, 5), { rows: [4, 0, 2] }], { ...float, Tlabels: 'int32' }, 2],
  ['TensorScatterAdd', [of(5), { rows: [3, 1, 3], shape: [3, 1] }, of(3)], { ...float, Tindices: 'int32' }],
  ['TensorScatterUpdate', [of(5), { rows: [3, 1], shape: [2, 1] }, of(2)], { ...float, Tindices: 'int32' }],
  ['InplaceUpdate', [of(5, 3), { rows: [1, 4] }, of(2, 3)], float],
];

const native = nativeInstalled() || process.env.CLAWLOOP_REQUIRE_ALL === '1' ? describe : describe.skip;

native('an op in a graph', () => {
  const named = cases.map(([op, inputs, attributes, outputs = 1]) => ({ op, inputs, attributes, outputs }));
  test.each(named)(
    '$op: the graph gives the same shapes and numbers as the op alone',
    ({ op, inputs, attributes, outputs }) => {
      const executor = openNative({ threads: 2 });
      const before = executor.tensorCount();
      executor.scope(() => {
        const random = createRandom(op);
        const upload = (input: Input): Tensor | Sizes => {
          if ('integers' in input) return input;
          if ('rows' in input)
            return executor.upload(Int32Array.from(input.rows), input.shape ?? [input.rows.length]);
          const { shape, above } = input;
          const values = Float32Array.from({ length: sizeOf(shape) }, () =>
            above === undefined ? normal(random) : above + random(),
          );
          return executor.upload(values, shape);
        };
        const tensors = inputs.map(upload);
        const body = (on: typeof executor, given: readonly (Tensor | Sizes)[]) =>
          on.runMany(
            op,
            given.map((input) => ('integers' in input ? on.integers(input.integers) : input)),
            attributes,
            outputs,
          );
        const alone = body(executor, tensors);
        for (const sizes of ['fixed', 'varying'] as const) {
          const together = executor.graphs!.run({ name: `test of ${op}`, sizes }, tensors, body);
          expect(together.map(({ shape }) => shape)).toEqual(alone.map(({ shape }) => shape));
          together.forEach((output, index) => {
            const difference = largestDifference(executor.read(output), executor.read(alone[index]!));
            expect(difference).toBeLessThan(2e-6);
          });
        }
        const known = inputs.map((input, index) => {
          if (!('integers' in input)) return { shape: (tensors[index] as Tensor).shape };
          const list = typeof input.integers === 'number' ? [input.integers] : input.integers;
          return { shape: typeof input.integers === 'number' ? [] : [list.length], integers: list };
        });
        expect(outputsOf(op, known, attributes).map(({ shape }) => shape)).toEqual(
          alone.map(({ shape }) => shape),
        );
      });
      expect(executor.tensorCount()).toBe(before);
    },
  );

  test('complex numbers go in and out as pairs of floats', () => {
    const executor = openNative({ threads: 2 });
    executor.scope(() => {
      const pairs = executor.upload(Float32Array.of(1, 2, 3, 4), [2, 2]);
      const turn = executor.run('Bitcast', [executor.upload(Float32Array.of(0, 1, 0, 1), [2, 2])], {
        T: 'float32',
        type: 'complex64',
      });
      expect(turn).toMatchObject({ shape: [2], type: 'complex64' });
      const turned = executor.graphs!.run(
        { name: 'test', sizes: 'varying' },
        { pairs, turn },
        (on, given) => {
          const numbers = on.run('Bitcast', [given.pairs], { T: 'float32', type: 'complex64' });
          const product = on.run('Mul', [numbers, given.turn], { T: 'complex64' });
          return on.run('Bitcast', [product], { T: 'complex64', type: 'float32' });
        },
      );
      expect([...executor.read(turned)]).toEqual([-2, 1, -4, 3]);
    });
  });
});

test('errors name incompatible shapes and ops without a rule', () => {
  expect(() => outputsOf('AddV2', [{ shape: [2, 3] }, { shape: [4] }], float)).toThrow('[2,3] and [4]');
  const matmul = { ...float, transpose_a: false, transpose_b: false };
  expect(() => outputsOf('MatMul', [{ shape: [2, 3] }, { shape: [2, 3] }], matmul)).toThrow('multiplied');
  expect(() => outputsOf('Conv2D', [{ shape: [1] }], float)).toThrow(UnknownOp);
});
