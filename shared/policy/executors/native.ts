import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import util from 'node:util';
import type { NativeExecutor, Shape, Tensor } from './executor.ts';
import { createGraphs, type GraphBinding } from './graph/compiled.ts';
import { type NativeOptions, nativeThreads, prepareNativeEnvironment } from './native-environment.ts';
import { nativeRoot } from './native-location.ts';
import { type Attributes, type TypeName, types } from './op-attributes.ts';
import { createOwnership } from './tensor.ts';

/** The part of tfjs-node's addon that we use: ops by name on tensors by id. */
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

/** Thrown when the addon is not installed or does not load. */
class NativeUnavailable extends Error {
  override readonly name = 'NativeUnavailable';
}

export const nativeInstalled = (): boolean => resolveAddon() !== undefined;

/** The package's entry file: from `.native`, else one that the user installed in the project. */
function resolveAddon(): string | undefined {
  for (const root of [nativeRoot, join(nativeRoot, '..')]) {
    const folder = join(root, 'node_modules', '@tensorflow', 'tfjs-node');
    if (existsSync(join(folder, 'lib', 'napi-v8', 'tfjs_binding.node')))
      return join(folder, 'dist', 'index.js');
  }
  return undefined;
}

/**
 * Opens TensorFlow's kernels through tfjs-node's addon. There is one TensorFlow per process, with the settings of
 * the first call. Works in worker threads too.
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
  const backend = loadBackend(entry, options);
  const { binding } = backend;
  const place = binding.isUsingGpuDevice() ? 'a CUDA device' : `${nativeThreads()} CPU threads`;
  return {
    ...createNative(backend, options.onCompiled ?? (() => {})),
    // the report up to the comma is in the trainer's runtime fingerprint: it must name everything that changes bits
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

function loadBackend(entry: string, options: NativeOptions): Backend {
  prepareNativeEnvironment(options);
  // Node 23 removed this function; tfjs-node 4.22 still calls it.
  Object.assign(util, { isNullOrUndefined: (value: unknown) => value === null || value === undefined });
  const load = createRequire(entry);
  try {
    const backend = load(entry).backend() as Backend;
    return { binding: backend.binding, getNumOfTFTensors: () => backend.getNumOfTFTensors() };
  } catch (error) {
    throw new NativeUnavailable('the native backend failed to load: run `npm run setup:native` again', {
      cause: error,
    });
  }
}

const typeNames = new Map(
  Object.entries(types).map(([name, number]) => [number as number, name as TypeName]),
);

/** Translates attributes as the addon takes them, once per object. */
function createTranslator(binding: Binding) {
  const translated = new WeakMap<Attributes, readonly OpAttribute[]>();
  return (attributes: Attributes): readonly OpAttribute[] => {
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
}

function idOf(tensor: Tensor): number {
  if (tensor.handle === undefined)
    throw new Error(`a tensor of shape [${tensor.shape}] was used after it was disposed`);
  return tensor.handle as number;
}

/** Uploads a copy of the values: TensorFlow may keep using the array that it gets. */
const createTensor = (binding: Binding, values: Float32Array | Int32Array, shape: Shape): Tensor => ({
  shape,
  type: values instanceof Int32Array ? 'int32' : 'float32',
  handle: binding.createTensor(
    shape,
    values instanceof Int32Array ? types.int32 : types.float32,
    values.slice(),
  ),
});

/** Scalars that stay, and integers that stay until `freeIntegers`. */
function createConstants(binding: Binding) {
  const scalars = new Map<number, Tensor>();
  const integers = new Map<string, Tensor>();
  return {
    scalar(value: number): Tensor {
      let tensor = scalars.get(value);
      if (tensor === undefined) {
        tensor = createTensor(binding, Float32Array.of(value), []);
        scalars.set(value, tensor);
      }
      return tensor;
    },
    scalarCount: () => scalars.size,
    integers(values: readonly number[] | number): Tensor {
      const key = String(values) + (typeof values === 'number' ? '' : ';');
      let tensor = integers.get(key);
      if (tensor === undefined) {
        tensor =
          typeof values === 'number'
            ? createTensor(binding, Int32Array.of(values), [])
            : createTensor(binding, Int32Array.from(values), [values.length]);
        integers.set(key, tensor);
      }
      return tensor;
    },
    freeIntegers(): void {
      for (const tensor of integers.values()) binding.deleteTensor(tensor.handle as number);
      integers.clear();
    },
  };
}

function createNative(
  { binding, getNumOfTFTensors }: Backend,
  onCompiled: NonNullable<NativeOptions['onCompiled']>,
): Omit<NativeExecutor, 'report'> {
  const { own, scope, detached, dispose, atEnd } = createOwnership((id) =>
    binding.deleteTensor(id as number),
  );
  const translate = createTranslator(binding);
  const { scalar, scalarCount, integers, freeIntegers } = createConstants(binding);
  atEnd(freeIntegers);
  const typeOf = (dtype: number): TypeName => typeNames.get(dtype) ?? 'float32';
  const adopt = ({ id, shape, dtype }: Output): Tensor => own({ shape, type: typeOf(dtype), handle: id });
  const execute = (op: string, inputs: readonly Tensor[], attributes: Attributes, outputs: number) =>
    binding.executeOp(op, translate(attributes), inputs.map(idOf), outputs);
  const upload = (values: Float32Array | Int32Array, shape: Shape): Tensor =>
    own(createTensor(binding, values, shape));
  return {
    kind: 'native',
    scope,
    detached,
    dispose,
    tensorCount: () => getNumOfTFTensors() - scalarCount(),
    upload,
    read: (tensor) => binding.tensorDataSync(idOf(tensor)),
    run: (op, inputs, attributes) => adopt(execute(op, inputs, attributes, 1)[0]!),
    runMany: (op, inputs, attributes, outputs) => execute(op, inputs, attributes, outputs).map(adopt),
    scalar,
    integers,
    graphs: createGraphs({ binding, idOf, adopt, upload, dispose, onCompiled }),
  };
}
