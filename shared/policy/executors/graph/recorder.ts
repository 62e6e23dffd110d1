import type { NativeExecutor } from '../native.ts';
import type { Attributes, TypeName } from '../op-attributes.ts';
import type { Shape, Tensor } from '../tensor.ts';
import type { GraphNode } from './graph-def.ts';
import { outputsOf } from './shapes.ts';

/**
 * `fixed`: shapes are constants of the graph, so that it serves one set of sizes. `varying`: they are fed, so
 * that one graph serves all sizes for which the same ops are recorded.
 */
export type Sizes = 'fixed' | 'varying';

/** What was recorded, and what has to be fed besides the inputs. */
export type Recording = {
  readonly nodes: readonly GraphNode[];
  /** All sizes behind one another, fed as `sizesFeed`: only where they vary, else empty. */
  readonly sizes: readonly number[];
};

/** One placeholder for all sizes, since each that is fed costs time at every run. */
export const sizesFeed = 'sizes';
const sizesSplit = 'split-sizes';

/** What a tensor's handle is while it is recorded. */
type Recorded = {
  readonly recorder: object;
  /** `name:output`; undefined: made when an op uses it */
  readonly source: string | undefined;
  readonly integers?: readonly number[];
};

const recordedOf = ({ handle }: Tensor): Recorded | undefined =>
  typeof handle === 'object' && handle !== null && 'recorder' in handle ? (handle as Recorded) : undefined;

/** Thrown when something is done while recording that has no place in a graph. */
export class NotRecordable extends Error {
  override readonly name = 'NotRecordable';
}

/** Inputs that hold sizes, per op; all other integers are axes, which no size changes. */
const sizeInputs: Readonly<Record<string, readonly number[]>> = {
  Reshape: [1],
  Fill: [0],
  Slice: [1, 2],
  UnsortedSegmentSum: [2],
};

const reshapeIntegers = { T: 'int32', Tshape: 'int32' } as const;

/** The name of the node that makes a recorded tensor, with its output: `name:output`. */
export function sourceOf(tensor: Tensor): string {
  const source = recordedOf(tensor)?.source;
  if (source === undefined) throw new NotRecordable('a graph can only return what an op in it made');
  return source;
}

export type Recorder = {
  readonly executor: NativeExecutor;
  /** A tensor that is fed at every run. */
  input(shape: Shape, type: TypeName): Tensor;
  recording(): Recording;
};

/** An executor that writes down each op instead of running it. Nothing is computed. */
export function createRecorder(sizes: Sizes): Recorder {
  const nodes: GraphNode[] = [];
  const sizeVectors: (readonly number[])[] = [];
  const known = new Map<string, string>();
  const self = {};

  const tensor = (
    shape: Shape,
    type: TypeName,
    source: string | undefined,
    integers?: readonly number[],
  ): Tensor => {
    const handle: Recorded = { recorder: self, source, ...(integers && { integers }) };
    return { shape, type, handle };
  };
  const add = (node: Omit<GraphNode, 'name'>, prefix: string): string => {
    const name = `${prefix}${nodes.length}`;
    nodes.push({ ...node, name });
    return name;
  };
  const once = (key: string, make: () => string): string => {
    const source = known.get(key) ?? `${make()}:0`;
    known.set(key, source);
    return source;
  };
  const constant = (type: TypeName, shape: Shape, values: Float32Array | Int32Array): string =>
    add({ op: 'Const', inputs: [], attributes: { dtype: type }, value: { type, shape, values } }, 'c');
  const integersSource = (values: readonly number[], shape: Shape, isSize: boolean): string => {
    if (sizes === 'varying' && isSize) {
      // Equal ones are not shared: whether two are equal may depend on the sizes, and the graph must not.
      const source = `${sizesSplit}:${sizeVectors.push(values) - 1}`;
      if (shape.length > 0) return source;
      const scalar = once('i ;1', () => constant('int32', [0], new Int32Array(0)));
      return `${add({ op: 'Reshape', inputs: [source, scalar], attributes: reshapeIntegers }, 'n')}:0`;
    }
    return once(`i ${values};${shape.length}`, () => constant('int32', shape, Int32Array.from(values)));
  };
  const ownOf = (tensor: Tensor): Recorded => {
    const recorded = recordedOf(tensor);
    if (recorded?.recorder === self) return recorded;
    throw new NotRecordable(
      `a tensor of shape [${tensor.shape}] from outside of the graph: give it as an input`,
    );
  };
  const runMany = (
    op: string,
    inputs: readonly Tensor[],
    attributes: Attributes,
    outputs: number,
  ): readonly Tensor[] => {
    const recorded = inputs.map(ownOf);
    const made = outputsOf(
      op,
      inputs.map(({ shape }, index) => ({ shape, integers: recorded[index]!.integers })),
      attributes,
    );
    if (made.length !== outputs) throw new NotRecordable(`${op} has ${made.length} outputs, not ${outputs}`);
    const sources = recorded.map(
      ({ source, integers }, index) =>
        source ?? integersSource(integers!, inputs[index]!.shape, sizeInputs[op]?.includes(index) ?? false),
    );
    const name = add({ op, inputs: sources, attributes }, 'n');
    return made.map(({ shape, type }, output) => tensor(shape, type, `${name}:${output}`));
  };
  const refuse = (what: string) => (): never => {
    throw new NotRecordable(`${what} while a graph is recorded`);
  };

  return {
    executor: {
      kind: 'native',
      report: 'recording',
      graphs: undefined,
      run: (op, inputs, attributes) => runMany(op, inputs, attributes, 1)[0]!,
      runMany,
      scalar: (value) =>
        tensor(
          [],
          'float32',
          once(`f ${value}`, () => constant('float32', [], Float32Array.of(value))),
        ),
      integers(values) {
        const list = typeof values === 'number' ? [values] : [...values];
        const shape = typeof values === 'number' ? [] : [list.length];
        return tensor(shape, 'int32', undefined, list);
      },
      upload: refuse('values were uploaded'),
      read: refuse('values were read'),
      scope: (body) => body(),
      detached: refuse('a tensor was kept'),
      dispose: () => {},
      tensorCount: () => 0,
    },
    input(shape, type) {
      const fed = sizes === 'fixed' ? shape : undefined;
      const name = add({ op: 'Placeholder', inputs: [], attributes: { dtype: type }, shape: fed }, 'p');
      return tensor(shape, type, `${name}:0`);
    },
    recording() {
      if (sizeVectors.length === 0) return { nodes, sizes: [] };
      const lengths = Int32Array.from(sizeVectors, ({ length }) => length);
      const inputs = [
        `${sizesFeed}:0`,
        `${constant('int32', [lengths.length], lengths)}:0`,
        `${constant('int32', [], Int32Array.of(0))}:0`,
      ];
      const attributes: Attributes = { T: 'int32', Tlen: 'int32', num_split: lengths.length };
      const all = { name: sizesFeed, op: 'Placeholder', inputs: [], attributes: { dtype: 'int32' } } as const;
      return {
        nodes: [...nodes, all, { name: sizesSplit, op: 'SplitV', inputs, attributes }],
        sizes: sizeVectors.flat(),
      };
    },
  };
}
