import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import util from 'node:util';
import type { ExecutorBase } from './executor.ts';
import { type NativeOptions, prepareNativeEnvironment } from './native-environment.ts';
import { nativeRoot } from './native-location.ts';
import { createOwnership, type Shape, type Tensor } from './tensor.ts';

/** The part of tfjs-node's addon that is used: ops by name on tensors by id. */
type Binding = {
  createTensor(shape: Shape, type: number, values: Float32Array | Int32Array): number;
  deleteTensor(id: number): void;
  tensorDataSync(id: number): Float32Array;
  executeOp(
    name: string,
    attributes: readonly OpAttribute[],
    inputs: readonly number[],
    outputs: number,
  ): { readonly id: number; readonly shape: number[] }[];
  readonly TF_ATTR_TYPE: number;
  readonly TF_ATTR_BOOL: number;
  readonly TF_ATTR_INT: number;
  readonly TF_Version: string;
};
type OpAttribute = { readonly name: string; readonly type: number; readonly value: number | boolean };
type Backend = { readonly binding: Binding; getNumOfTFTensors(): number };

/** TensorFlow's numbers for its types. */
export const types = { float32: 1, int32: 3, complex64: 8 } as const;

/**
 * Attributes of an op: a type by its name, an integer or a flag. Make them once: they are translated per
 * object.
 */
export type Attributes = Readonly<Record<string, keyof typeof types | number | boolean>>;

export type NativeExecutor = ExecutorBase & {
  readonly kind: 'native';
  run(op: string, inputs: readonly Tensor[], attributes: Attributes): Tensor;
  runMany(op: string, inputs: readonly Tensor[], attributes: Attributes, outputs: number): readonly Tensor[];
  /** A scalar that lives as long as the executor. For constants of the code, not for data. */
  scalar(value: number): Tensor;
  /**
   * An i32 vector (or scalar, from a number) for shapes and axes; shared within the outermost scope, freed at
   * its end.
   */
  integers(values: readonly number[] | number): Tensor;
};

/** Thrown when the addon is not installed or does not load. */
export class NativeUnavailable extends Error {
  override readonly name = 'NativeUnavailable';
}

export const nativeInstalled = (): boolean => resolveAddon() !== undefined;

/** The package's entry file: ours from `.native`, else one that the person installed beside the project. */
function resolveAddon(): string | undefined {
  for (const root of [nativeRoot, join(nativeRoot, '..')]) {
    const folder = join(root, 'node_modules', '@tensorflow', 'tfjs-node');
    if (existsSync(join(folder, 'lib', 'napi-v8', 'tfjs_binding.node')))
      return join(folder, 'dist', 'index.js');
  }
  return undefined;
}

/**
 * Opens TensorFlow's CPU kernels through tfjs-node's addon. TensorFlow is one per process: settings of the
 * first call hold. Works in a worker thread too.
 *
 * @throws NativeUnavailable
 */
export function openNative(options: NativeOptions = {}): NativeExecutor {
  opened ??= open(options);
  return opened;
}

let opened: NativeExecutor | undefined;

function open(options: NativeOptions): NativeExecutor {
  const entry = resolveAddon();
  if (entry === undefined) {
    throw new NativeUnavailable('the native backend is not installed: run `npm run setup:native`');
  }
  const { binding, getNumOfTFTensors } = loadBackend(entry, options);
  const threads = process.env.TF_NUM_INTRAOP_THREADS ?? 'all';
  return {
    ...createNative(binding, getNumOfTFTensors),
    report: `native: TensorFlow ${binding.TF_Version} on ${threads} CPU threads; nothing faster is known for this machine`,
  };
}

function loadBackend(entry: string, options: NativeOptions) {
  prepareNativeEnvironment(options);
  // Node 23 took this function away; tfjs-node 4.22 still calls it.
  Object.assign(util, { isNullOrUndefined: (value: unknown) => value === null || value === undefined });
  const load = createRequire(entry);
  try {
    const backend = load(entry).backend() as Backend;
    return { binding: backend.binding, getNumOfTFTensors: () => backend.getNumOfTFTensors() };
  } catch (error) {
    throw new NativeUnavailable('the native backend does not load: run `npm run setup:native` again', {
      cause: error,
    });
  }
}

function createNative(binding: Binding, allTensors: () => number): Omit<NativeExecutor, 'report'> {
  const { own, scope, detached, dispose, atEnd } = createOwnership((id) =>
    binding.deleteTensor(id as number),
  );
  const translated = new WeakMap<Attributes, readonly OpAttribute[]>();
  const scalars = new Map<number, Tensor>();
  const integers = new Map<string, Tensor>();
  atEnd(() => {
    for (const tensor of integers.values()) binding.deleteTensor(tensor.handle as number);
    integers.clear();
  });

  const translate = (attributes: Attributes): readonly OpAttribute[] => {
    let known = translated.get(attributes);
    if (known === undefined) {
      known = Object.entries(attributes).map(([name, value]) => {
        if (typeof value === 'string') return { name, type: binding.TF_ATTR_TYPE, value: types[value] };
        return { name, type: typeof value === 'boolean' ? binding.TF_ATTR_BOOL : binding.TF_ATTR_INT, value };
      });
      translated.set(attributes, known);
    }
    return known;
  };
  const idOf = (tensor: Tensor): number => {
    if (tensor.handle === undefined)
      throw new Error(`a tensor of shape [${tensor.shape}] was used after it was disposed`);
    return tensor.handle as number;
  };
  const execute = (op: string, inputs: readonly Tensor[], attributes: Attributes, outputs: number) =>
    binding.executeOp(op, translate(attributes), inputs.map(idOf), outputs);
  // TensorFlow may keep using the array it is given instead of copying it: it gets one of its own.
  const create = (values: Float32Array | Int32Array, shape: Shape): Tensor => ({
    shape,
    handle: binding.createTensor(
      shape,
      values instanceof Int32Array ? types.int32 : types.float32,
      values.slice(),
    ),
  });

  return {
    kind: 'native',
    scope,
    detached,
    dispose,
    tensorCount: () => allTensors() - scalars.size,
    upload: (values, shape) => own(create(values, shape)),
    read: (tensor) => binding.tensorDataSync(idOf(tensor)),
    run(op, inputs, attributes) {
      const [output] = execute(op, inputs, attributes, 1);
      return own({ shape: output!.shape, handle: output!.id });
    },
    runMany(op, inputs, attributes, outputs) {
      return execute(op, inputs, attributes, outputs).map(({ id, shape }) => own({ shape, handle: id }));
    },
    scalar(value) {
      let tensor = scalars.get(value);
      if (tensor === undefined) {
        tensor = create(Float32Array.of(value), []);
        scalars.set(value, tensor);
      }
      return tensor;
    },
    integers(values) {
      const key = String(values) + (typeof values === 'number' ? '' : ';');
      let tensor = integers.get(key);
      if (tensor === undefined) {
        tensor =
          typeof values === 'number'
            ? create(Int32Array.of(values), [])
            : create(Int32Array.from(values), [values.length]);
        integers.set(key, tensor);
      }
      return tensor;
    },
  };
}
