import type { Attributes, TypeName } from '../op-attributes.ts';
import type { Shape } from '../tensor.ts';

/** An input during recording: its shape, and its values if it is `integers`. */
type KnownInput = { readonly shape: Shape; readonly integers?: readonly number[] | undefined };
type KnownOutput = { readonly shape: Shape; readonly type: TypeName };

type Rule = (inputs: readonly KnownInput[], attributes: Attributes) => readonly Shape[];

/** Thrown when an op is recorded that has no rule below. */
export class UnknownOp extends Error {
  override readonly name = 'UnknownOp';
}

const first: Rule = ([a]) => [a!.shape];

/** As NumPy broadcasts: missing axes are added in front, axes of size 1 are repeated. */
const broadcast: Rule = ([a, b]) => {
  const rank = Math.max(a!.shape.length, b!.shape.length);
  const sizeAt = (shape: Shape, axis: number): number => shape[shape.length - rank + axis] ?? 1;
  return [
    Array.from({ length: rank }, (_, axis) => {
      const [left, right] = [sizeAt(a!.shape, axis), sizeAt(b!.shape, axis)];
      if (left !== right && left !== 1 && right !== 1)
        throw new Error(`[${a!.shape}] and [${b!.shape}] cannot be broadcast together`);
      return left === 1 ? right : left;
    }),
  ];
};

const numbersOf = (input: KnownInput | undefined): readonly number[] => {
  if (input?.integers === undefined) throw new Error('shapes and axes must come from `integers`');
  return input.integers;
};
const axisOf = (input: KnownInput | undefined, rank: number): number => {
  const [axis] = numbersOf(input);
  return axis! < 0 ? axis! + rank : axis!;
};

const reduce: Rule = ([a, axes], { keep_dims }) => {
  const reduced = new Set(numbersOf(axes).map((axis) => (axis < 0 ? axis + a!.shape.length : axis)));
  if (keep_dims === true) return [a!.shape.map((size, axis) => (reduced.has(axis) ? 1 : size))];
  return [a!.shape.filter((_, axis) => !reduced.has(axis))];
};

const product =
  (transposeA: string, transposeB: string): Rule =>
  ([a, b], attributes) => {
    const [left, right] = [a!.shape, b!.shape];
    const [rows, inner] = attributes[transposeA] === true ? [-1, -2] : [-2, -1];
    const [otherInner, columns] = attributes[transposeB] === true ? [-1, -2] : [-2, -1];
    if (left.at(inner!) !== right.at(otherInner!))
      throw new Error(`[${left}] and [${right}] cannot be multiplied`);
    const [batch] = broadcast([{ shape: left.slice(0, -2) }, { shape: right.slice(0, -2) }], {});
    return [[...batch!, left.at(rows!)!, right.at(columns!)!]];
  };

const rules: Readonly<Record<string, Rule>> = {
  AddV2: broadcast,
  Mul: broadcast,
  Sub: broadcast,
  BiasAdd: first,
  InplaceUpdate: first,
  Rsqrt: first,
  Sigmoid: first,
  Softmax: first,
  Square: first,
  TensorScatterAdd: first,
  TensorScatterUpdate: first,
  Mean: reduce,
  Sum: reduce,
  MatMul: product('transpose_a', 'transpose_b'),
  BatchMatMulV2: product('adj_x', 'adj_y'),
  Reshape: ([, shape]) => [numbersOf(shape)],
  Fill: ([shape]) => [numbersOf(shape)],
  Slice: ([, , size]) => [numbersOf(size)],
  Transpose: ([a, permutation]) => [numbersOf(permutation).map((axis) => a!.shape[axis]!)],
  // Two floats are one complex number: the last axis is removed or added.
  Bitcast: ([a], { type }) => [type === 'complex64' ? a!.shape.slice(0, -1) : [...a!.shape, 2]],
  SplitV: ([a, sizes, axis]) =>
    numbersOf(sizes).map((size) => a!.shape.with(axisOf(axis, a!.shape.length), size)),
  ConcatV2: (inputs) => {
    const parts = inputs.slice(0, -1);
    const { shape } = parts[0]!;
    const axis = axisOf(inputs.at(-1), shape.length);
    return [
      shape.with(
        axis,
        parts.reduce((sum, part) => sum + part.shape[axis]!, 0),
      ),
    ];
  },
  GatherV2: ([table, indices, along]) => {
    const { shape } = table!;
    const axis = axisOf(along, shape.length);
    return [[...shape.slice(0, axis), ...indices!.shape, ...shape.slice(axis + 1)]];
  },
  UnsortedSegmentSum: ([values, , count]) => [[numbersOf(count)[0]!, ...values!.shape.slice(1)]],
  SparseSoftmaxCrossEntropyWithLogits: ([logits]) => [logits!.shape.slice(0, 1), logits!.shape],
};

/**
 * Shapes and types of an op's outputs.
 * @throws UnknownOp, and an Error for incompatible inputs
 */
export function outputsOf(
  op: string,
  inputs: readonly KnownInput[],
  attributes: Attributes,
): readonly KnownOutput[] {
  const rule = rules[op];
  if (rule === undefined) throw new UnknownOp(`${op} cannot be recorded: shapes.ts has no rule for it`);
  const named = op === 'Bitcast' ? attributes.type : attributes.T;
  const type = typeof named === 'string' ? named : 'float32';
  return rule(inputs, attributes).map((shape) => ({ shape, type }));
}
