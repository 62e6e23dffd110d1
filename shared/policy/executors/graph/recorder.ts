import type { NativeExecutor, Shape, Sizes, Tensor } from '../executor.ts';
import type { Attributes, TypeName } from '../op-attributes.ts';
import type { GraphNode } from './graph-def.ts';
import { outputsOf } from './shapes.ts';

/** The recorded nodes, and the sizes to feed besides the inputs. */
export type Recording = {
  readonly nodes: readonly GraphNode[];
  /** All sizes, one vector after the other, fed as `sizesFeed`; empty if sizes are fixed. */
  readonly sizes: readonly number[];
};

/** One placeholder for all sizes, since every fed tensor costs time at every run. */
export const sizesFeed = 'sizes';
const sizesSplit = 'split-sizes';

/** A tensor's handle during recording. */
type Recorded = {
  readonly recorder: object;
  /** `name:output`; undefined: added when an op uses it */
  readonly source: string | undefined;
  readonly integers?: readonly number[];
};

const recordedOf = ({ handle }: Tensor): Recorded | undefined =>
  typeof handle === 'object' && handle !== null && 'recorder' in handle ? (handle as Recorded) : undefined;

/** Thrown when recorded code does something that a graph cannot do. */
export class NotRecordable extends Error {
  override readonly name = 'NotRecordable';
}

/** Indices of the inputs that are sizes, per op; all other integers are axes, which do not vary. */
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
  if (source === undefined) throw new NotRecordable('a graph can only return outputs of its ops');
  return source;
}

/** Writes down each op instead of running it. Computes nothing. */
export class Recorder {
  readonly executor: NativeExecutor;
  readonly #sizes: Sizes;
  readonly #nodes: GraphNode[] = [];
  readonly #sizeVectors: (readonly number[])[] = [];
  /** Sources of constants, by their content. */
  readonly #constants = new Map<string, string>();

  constructor(sizes: Sizes) {
    this.#sizes = sizes;
    this.executor = {
      kind: 'native',
      report: 'recording',
      graphs: undefined,
      run: (op, inputs, attributes) => this.#record(op, inputs, attributes, 1)[0]!,
      runMany: (op, inputs, attributes, outputs) => this.#record(op, inputs, attributes, outputs),
      scalar: (value) => this.#scalar(value),
      integers: (values) => this.#integers(values),
      upload: refuse('upload values'),
      read: refuse('read values'),
      scope: (body) => body(),
      detached: refuse('keep a tensor'),
      dispose: () => {},
      tensorCount: () => 0,
    };
  }

  /** A tensor that is fed at every run. */
  input(shape: Shape, type: TypeName): Tensor {
    const fed = this.#sizes === 'fixed' ? shape : undefined;
    const name = this.#add({ op: 'Placeholder', inputs: [], attributes: { dtype: type }, shape: fed }, 'p');
    return this.#tensor(shape, type, { source: `${name}:0` });
  }

  recording(): Recording {
    if (this.#sizeVectors.length === 0) return { nodes: this.#nodes, sizes: [] };
    const lengths = Int32Array.from(this.#sizeVectors, ({ length }) => length);
    const inputs = [
      `${sizesFeed}:0`,
      `${this.#constant('int32', [lengths.length], lengths)}:0`,
      `${this.#constant('int32', [], Int32Array.of(0))}:0`,
    ];
    const attributes: Attributes = { T: 'int32', Tlen: 'int32', num_split: lengths.length };
    const all = { name: sizesFeed, op: 'Placeholder', inputs: [], attributes: { dtype: 'int32' } } as const;
    return {
      nodes: [...this.#nodes, all, { name: sizesSplit, op: 'SplitV', inputs, attributes }],
      sizes: this.#sizeVectors.flat(),
    };
  }

  #record(op: string, inputs: readonly Tensor[], attributes: Attributes, outputs: number): readonly Tensor[] {
    const recorded = inputs.map((input) => this.#recordedHere(input));
    const made = outputsOf(
      op,
      inputs.map(({ shape }, index) => ({ shape, integers: recorded[index]!.integers })),
      attributes,
    );
    if (made.length !== outputs) throw new NotRecordable(`${op} has ${made.length} outputs, not ${outputs}`);
    const sources = recorded.map(({ source, integers }, index) => {
      if (source !== undefined) return source;
      const isSize = sizeInputs[op]?.includes(index) ?? false;
      return this.#integersSource(integers!, inputs[index]!.shape, isSize);
    });
    const name = this.#add({ op, inputs: sources, attributes }, 'n');
    return made.map(({ shape, type }, output) => this.#tensor(shape, type, { source: `${name}:${output}` }));
  }

  #scalar(value: number): Tensor {
    const source = this.#once(`f ${value}`, () => this.#constant('float32', [], Float32Array.of(value)));
    return this.#tensor([], 'float32', { source });
  }

  #integers(values: readonly number[] | number): Tensor {
    const integers = typeof values === 'number' ? [values] : [...values];
    const shape = typeof values === 'number' ? [] : [integers.length];
    return this.#tensor(shape, 'int32', { source: undefined, integers });
  }

  #tensor(shape: Shape, type: TypeName, recorded: Omit<Recorded, 'recorder'>): Tensor {
    const handle: Recorded = { ...recorded, recorder: this };
    return { shape, type, handle };
  }

  #recordedHere(tensor: Tensor): Recorded {
    const recorded = recordedOf(tensor);
    if (recorded?.recorder === this) return recorded;
    throw new NotRecordable(
      `a tensor of shape [${tensor.shape}] comes from outside of the graph: pass it as an input`,
    );
  }

  #add(node: Omit<GraphNode, 'name'>, prefix: string): string {
    const name = `${prefix}${this.#nodes.length}`;
    this.#nodes.push({ ...node, name });
    return name;
  }

  #once(key: string, make: () => string): string {
    const source = this.#constants.get(key) ?? `${make()}:0`;
    this.#constants.set(key, source);
    return source;
  }

  #constant(type: TypeName, shape: Shape, values: Float32Array | Int32Array): string {
    const value = { type, shape, values };
    return this.#add({ op: 'Const', inputs: [], attributes: { dtype: type }, value }, 'c');
  }

  #integersSource(values: readonly number[], shape: Shape, isSize: boolean): string {
    if (this.#sizes === 'varying' && isSize) {
      // Equal vectors are not shared: whether two are equal may depend on the sizes, and the graph must not.
      const source = `${sizesSplit}:${this.#sizeVectors.push(values) - 1}`;
      if (shape.length > 0) return source;
      const scalar = this.#once('i ;1', () => this.#constant('int32', [0], new Int32Array(0)));
      const reshape = { op: 'Reshape', inputs: [source, scalar], attributes: reshapeIntegers };
      return `${this.#add(reshape, 'n')}:0`;
    }
    return this.#once(`i ${values};${shape.length}`, () =>
      this.#constant('int32', shape, Int32Array.from(values)),
    );
  }
}

const refuse = (action: string) => (): never => {
  throw new NotRecordable(`cannot ${action} while a graph is recorded`);
};
