import type { Attributes } from './op-attributes.ts';
import type { Shape, Tensor } from './tensor.ts';

/** The part of the interface that all executors share; each adds its own way to run an op. */
type ExecutorBase = {
  /** One line for the operator: which backend is in use, and how to make it faster. */
  readonly report: string;
  /** Copies values to the executor. Float32Array gives f32, Int32Array gives i32. */
  upload(values: Float32Array | Int32Array, shape: Shape): Tensor;
  /** Copies values back. */
  read(tensor: Tensor): Float32Array;
  /** Frees the tensors that `body` makes, except those that it returns; see Ownership.scope. */
  scope<Result>(body: () => Result): Result;
  /** Runs `body` outside of all scopes: the caller owns the tensors that it returns. */
  detached<Result>(body: () => Result): Result;
  dispose(tree: unknown): void;
  /** Tensors alive on the backend; permanent constants of the code are not counted. */
  tensorCount(): number;
};

/** Runs TensorFlow ops by name. */
export type NativeExecutor = ExecutorBase & {
  readonly kind: 'native';
  run(op: string, inputs: readonly Tensor[], attributes: Attributes): Tensor;
  runMany(op: string, inputs: readonly Tensor[], attributes: Attributes, outputs: number): readonly Tensor[];
  /** A scalar that lives as long as the executor. For constants of the code, not for data. */
  scalar(value: number): Tensor;
  /**
   * An i32 vector (or a scalar, from a number) for shapes and axes. It is shared within the outermost scope
   * and freed at its end.
   */
  integers(values: readonly number[] | number): Tensor;
  /** Runs whole functions as one call; undefined: every op runs on its own. */
  readonly graphs: Graphs | undefined;
};

/**
 * Multiplies matrices with the kernels of tfjs-backend-wasm; everything else is JavaScript on views of the
 * same memory.
 */
export type WasmExecutor = ExecutorBase & {
  readonly kind: 'wasm';
  /** a [m, k] times b [k, n]. Only the plain 2-D product has a fast kernel: transpose first if necessary. */
  matmul(a: Tensor, b: Tensor): Tensor;
  /** Transposes a matrix. */
  transpose(a: Tensor): Tensor;
  /** A new f32 tensor, not cleared. */
  allocate(shape: Shape): Tensor;
  /** The tensor's own memory. Valid until the next allocation, which may move the heap. */
  view(tensor: Tensor): Float32Array;
};

/** The backend that computes. Ops branch on `kind`. */
export type Executor = NativeExecutor | WasmExecutor;

/**
 * `fixed`: shapes are constants of the graph, which then serves one set of sizes. `varying`: sizes are fed, so
 * that one graph serves all sizes for which the same ops are recorded.
 */
export type Sizes = 'fixed' | 'varying';

export type GraphOptions = {
  /** Says what the graph computes; also part of its key. */
  readonly name: string;
  readonly sizes: Sizes;
};

/**
 * Functions of tensors. Each is recorded once as a graph and then runs in one native call.
 *
 * `body` must be a pure function of its inputs. Inputs other than tensors and lists of integers are part of
 * the key under which the recording is kept, and so are the shapes of tensors and lists. Int32Arrays are
 * uploaded and reach the body as tensors.
 */
export type Graphs = {
  run<Inputs, Outputs>(
    options: GraphOptions,
    inputs: Inputs,
    body: (executor: NativeExecutor, inputs: Inputs) => Outputs,
  ): Outputs;
  /** Graphs that are loaded now. */
  readonly count: number;
  /** Drops all graphs. */
  clear(): void;
};

export type { Shape, Tensor };
