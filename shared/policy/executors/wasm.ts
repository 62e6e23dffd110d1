import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { type BackendWasm, setWasmPaths } from '@tensorflow/tfjs-backend-wasm';
import * as tf from '@tensorflow/tfjs-core';
import type { Shape, Tensor, WasmExecutor } from './executor.ts';
import { createOwnership, sizeOf } from './tensor.ts';

/** Thrown if the 4 GiB that WebAssembly can address are exhausted. */
class WasmOutOfMemory extends Error {
  override readonly name = 'WasmOutOfMemory';
}

let opening: Promise<WasmExecutor> | undefined;

/**
 * Opens tfjs-backend-wasm: one SIMD thread. One per thread of the process, since TensorFlow.js is a
 * singleton.
 */
export function openWasm(): Promise<WasmExecutor> {
  opening ??= createWasm();
  return opening;
}

async function createWasm(): Promise<WasmExecutor> {
  const entry = createRequire(import.meta.url).resolve('@tensorflow/tfjs-backend-wasm');
  setWasmPaths(join(dirname(entry), '/'));
  await tf.setBackend('wasm');
  await tf.ready();
  const backend = tf.backend() as BackendWasm;
  const matmulKernel = tf.getKernel('BatchMatMul', 'wasm').kernelFunc;
  const transposeKernel = tf.getKernel('Transpose', 'wasm').kernelFunc;
  const plain = { transposeA: false, transposeB: false };
  const swap = { perm: [1, 0] };

  const { own, scope, detached, dispose } = createOwnership((handle) => {
    backend.disposeData((handle as tf.TensorInfo).dataId);
  });
  const infoOf = (tensor: Tensor): tf.TensorInfo => {
    if (tensor.handle === undefined)
      throw new Error(`a tensor of shape [${tensor.shape}] was used after it was disposed`);
    return tensor.handle as tf.TensorInfo;
  };
  /** A failed allocation is silent: the tensor then lies at address 0, on top of others. */
  const adopt = (output: tf.TensorInfo | tf.TensorInfo[]): Tensor => {
    const info = output as tf.TensorInfo;
    if (backend.getMemoryOffset(info.dataId) === 0 && sizeOf(info.shape) > 0) {
      backend.disposeData(info.dataId);
      throw new WasmOutOfMemory(
        `the wasm backend is out of memory (allocating [${info.shape}]); the native backend has no such limit`,
      );
    }
    return own({ shape: info.shape, handle: info });
  };
  const allocate = (shape: Shape): Tensor => adopt(backend.makeOutput([...shape], 'float32'));
  const view = (tensor: Tensor): Float32Array => backend.typedArrayFromHeap(infoOf(tensor)) as Float32Array;

  return {
    kind: 'wasm',
    report:
      'wasm: one SIMD thread; `npm run setup:native` installs native TensorFlow, which trains 5 times faster',
    scope,
    detached,
    dispose,
    allocate,
    view,
    tensorCount: () => backend.numDataIds() + tf.memory().numTensors,
    upload(values, shape) {
      const tensor = adopt(
        backend.makeOutput([...shape], values instanceof Int32Array ? 'int32' : 'float32'),
      );
      backend.typedArrayFromHeap(infoOf(tensor)).set(values);
      return tensor;
    },
    read: (tensor) => view(tensor).slice(),
    matmul: (a, b) => adopt(matmulKernel({ inputs: { a: infoOf(a), b: infoOf(b) }, backend, attrs: plain })),
    transpose: (a) => adopt(transposeKernel({ inputs: { x: infoOf(a) }, backend, attrs: swap })),
  };
}
