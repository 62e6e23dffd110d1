import type { NativeExecutor } from './native.ts';
import type { Shape, Tensor } from './tensor.ts';
import type { WasmExecutor } from './wasm.ts';

/** What every executor offers besides its own way to run an op. */
export type ExecutorBase = {
  /** For a person: which backend is in use, and what would make it faster. One line. */
  readonly report: string;
  /** Copies values to the executor. Float32Array gives f32, Int32Array gives i32. */
  upload(values: Float32Array | Int32Array, shape: Shape): Tensor;
  /** Copies values back. */
  read(tensor: Tensor): Float32Array;
  /** Frees what `body` made, except what it returns; see Ownership.scope. */
  scope<Result>(body: () => Result): Result;
  /** Runs `body` outside of all scopes: what it returns is the caller's. */
  detached<Result>(body: () => Result): Result;
  dispose(tree: unknown): void;
  /**
   * Tensors alive on the backend, whoever made them; constants of the code that stay for good are not
   * counted.
   */
  tensorCount(): number;
};

/**
 * Where numbers are computed. Ops look at `kind`: `native` runs TensorFlow ops by name, `wasm` multiplies
 * matrices with the kernels of tfjs-backend-wasm and does the rest in JavaScript on views of the same memory.
 */
export type Executor = NativeExecutor | WasmExecutor;
export type { Shape, Tensor };
