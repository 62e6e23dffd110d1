import type { Executor } from '../executors/executor.ts';
import type { CacheShape, KeyValueCache } from './kv-cache.ts';
import { NativeCache } from './kv-cache-native.ts';
import { WasmCache } from './kv-cache-wasm.ts';

export const createKeyValueCache = (executor: Executor, shape: CacheShape): KeyValueCache =>
  executor.kind === 'native' ? new NativeCache(executor, shape) : new WasmCache(executor, shape);
