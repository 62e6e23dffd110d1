import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import util from 'node:util';
import type { ExecutorBase } from './executor.ts';
import { createGraphs, type GraphBinding, type Graphs } from './graph/compiled.ts';
import { type NativeOptions, nativeThreads, prepareNativeEnvironment } from './native-environment.ts';
import { nativeRoot } from './native-location.ts';
import { type Attributes, type TypeName, types } from './op-attributes.ts';
import { createOwnership, type Shape, type Tensor } from './tensor.ts';

export type { Attributes } from './op-attributes.ts';

/** The part of tfjs-node's addon that is used: ops by name on tensors by id. */
type Binding = GraphBinding & {
  createTensor(shape: Shape, type: number, values: Float32Array | Int32Array): number;
  deleteTensor(id: number): void;
  tensorDataSync(id: number): Float32Array;
  executeOp(
    name: string,
    attributes: readonly OpAttribute[],
    inputs: readonly number[],
    outputs: number,
  ): Output[];
  readonly TF_ATTR_TYPE: number;
  readonly TF_ATTR_BOOL: number;
  readonly TF_ATTR_INT: number;
  readonly TF_Version: string;
  isUsingGpuDevice(): boolean;
};
type Output = { readonly id: number; readonly shape: number[]; readonly dtype: number };
type OpAttribute = { readonly name: string; readonly type: number; readonly value: number | boolean };
type Backend = { readonly binding: Binding; getNumOfTFTensors(): number };

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
  /** Runs whole functions as one call; undefined: op by op. */
  readonly graphs: Graphs | undefined;
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

/** The same executor op by op: for tests, and to see in which op something goes wrong. */
export const opByOp = (executor: NativeExecutor): NativeExecutor => ({ ...executor, graphs: undefined });

function open(options: NativeOptions): NativeExecutor {
  const entry = resolveAddon();
  if (entry === undefined) {
    throw new NativeUnavailable('the native backend is not installed: run `npm run setup:native`');
  }
  const { binding, getNumOfTFTensors } = loadBackend(entry, options);
  const place = binding.isUsingGpuDevice() ? 'a CUDA device' : `${nativeThreads()} CPU threads`;
  return {
    ...createNative(binding, getNumOfTFTensors, options.onCompiled ?? (() => {})),
    // up to the comma, the report stands in the trainer's runtime fingerprint: so must whatever changes bits
    report: `native: TensorFlow ${binding.TF_Version} on ${place} in graphs; ${adviceFor(binding)}`,
  };
}

/** `npm run setup:native -- --gpu` unpacks CUDA beside TensorFlow. */
const builtForCuda = (): boolean =>
  existsSync(join(nativeRoot, 'node_modules', '@tensorflow', 'tfjs-node', 'deps', 'nvidia'));

const adviceFor = (binding: Binding): string =>
  builtForCuda() && !binding.isUsingGpuDevice()
    ? 'built for CUDA, but TensorFlow finds no device (does nvidia-smi show one?)'
    : 'nothing faster is known for this machine';

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

const typeNames = new Map(
  Object.entries(types).map(([name, number]) => [number as number, name as TypeName]),
);

function createNative(
  binding: Binding,
  allTensors: () => number,
  onCompiled: NonNullable<NativeOptions['onCompiled']>,
): Omit<NativeExecutor, 'report'> {
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
  const typeOf = (dtype: number): TypeName => typeNames.get(dtype) ?? 'float32';
  const adopt = ({ id, shape, dtype }: Output): Tensor => own({ shape, type: typeOf(dtype), handle: id });
  const execute = (op: string, inputs: readonly Tensor[], attributes: Attributes, outputs: number) =>
    binding.executeOp(op, translate(attributes), inputs.map(idOf), outputs);
  // TensorFlow may keep using the array it is given instead of copying it: it gets one of its own.
  const create = (values: Float32Array | Int32Array, shape: Shape): Tensor => ({
    shape,
    type: values instanceof Int32Array ? 'int32' : 'float32',
    handle: binding.createTensor(
      shape,
      values instanceof Int32Array ? types.int32 : types.float32,
      values.slice(),
    ),
  });

  const upload = (values: Float32Array | Int32Array, shape: Shape): Tensor => own(create(values, shape));

  return {
    kind: 'native',
    scope,
    detached,
    dispose,
    tensorCount: () => allTensors() - scalars.size,
    upload,
    read: (tensor) => binding.tensorDataSync(idOf(tensor)),
    run(op, inputs, attributes) {
      return adopt(execute(op, inputs, attributes, 1)[0]!);
    },
    runMany(op, inputs, attributes, outputs) {
      return execute(op, inputs, attributes, outputs).map(adopt);
    },
    scalar(value) {
      let tensor = scalars.get(value);
      if (tensor === undefined) {
        tensor = create(Float32Array.of(value), []);
        scalars.set(value, tensor);
      }
      return tensor;
    },
    integers: integersOf,
    graphs: createGraphs({ binding, idOf, adopt, upload, dispose, onCompiled }),
  };

  function integersOf(values: readonly number[] | number): Tensor {
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
  }
}
