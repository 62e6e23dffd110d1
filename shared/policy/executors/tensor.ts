import type { TypeName } from './op-attributes.ts';

/**
 * An array on an executor: f32 unless `type` is set. `handle` belongs to the executor; undefined after disposal.
 */
export type Tensor = { readonly shape: readonly number[]; readonly type?: TypeName; handle: unknown };

export type Shape = readonly number[];

export const sizeOf = (shape: Shape): number => shape.reduce((product, size) => product * size, 1);

export const isTensor = (value: unknown): value is Tensor =>
  typeof value === 'object' && value !== null && 'handle' in value && 'shape' in value;

/** Calls `visit` for every tensor in a tree of arrays, maps and plain objects. */
function eachTensor(tree: unknown, visit: (tensor: Tensor) => void): void {
  if (typeof tree !== 'object' || tree === null || ArrayBuffer.isView(tree)) return;
  if (isTensor(tree)) visit(tree);
  else if (Array.isArray(tree)) for (const branch of tree) eachTensor(branch, visit);
  else if (tree instanceof Map) for (const branch of tree.values()) eachTensor(branch, visit);
  else for (const branch of Object.values(tree)) eachTensor(branch, visit);
}

/** Tracks the owner of each tensor, so that no tensor outlives its use. */
export type Ownership = {
  /** Registers a new tensor with the innermost scope. */
  own(tensor: Tensor): Tensor;
  /**
   * Runs `body`, then disposes every tensor that it made and does not return. Returned tensors pass to the
   * enclosing scope, or to the caller. If it throws, all are disposed.
   */
  scope<Result>(body: () => Result): Result;
  /** Runs `body` as if no scope were open: the caller owns the tensors that it returns. */
  detached<Result>(body: () => Result): Result;
  /** Frees every tensor in the tree now; already disposed tensors are skipped. */
  dispose(tree: unknown): void;
  /** Runs when the outermost scope ends. */
  atEnd(action: () => void): void;
};

export function createOwnership(free: (handle: unknown) => void): Ownership {
  let scopes: Tensor[][] = [];
  let isDetached = false;
  const endings: (() => void)[] = [];
  const release = (tensor: Tensor): void => {
    if (tensor.handle === undefined) return;
    free(tensor.handle);
    tensor.handle = undefined;
  };
  const close = (kept: ReadonlySet<Tensor>): void => {
    const made = scopes.pop()!;
    const parent = scopes.at(-1);
    for (const tensor of made) {
      if (!kept.has(tensor)) release(tensor);
      else if (tensor.handle !== undefined) parent?.push(tensor);
    }
    if (parent === undefined && !isDetached) for (const action of endings) action();
  };
  return {
    own(tensor) {
      scopes.at(-1)?.push(tensor);
      return tensor;
    },
    scope(body) {
      scopes.push([]);
      const kept = new Set<Tensor>();
      try {
        const result = body();
        eachTensor(result, (tensor) => kept.add(tensor));
        return result;
      } catch (error) {
        kept.clear();
        throw error;
      } finally {
        close(kept);
      }
    },
    detached(body) {
      const [open, before] = [scopes, isDetached];
      scopes = [];
      isDetached ||= open.length > 0;
      try {
        return body();
      } finally {
        scopes = open;
        isDetached = before;
      }
    },
    dispose: (tree) => eachTensor(tree, release),
    atEnd: (action) => void endings.push(action),
  };
}
