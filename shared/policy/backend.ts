import type { Executor } from './executors/executor.ts';
import type { NativeOptions } from './executors/native-environment.ts';

export type { Executor } from './executors/executor.ts';
export { prepareNativeEnvironment } from './executors/native-environment.ts';
export type BackendChoice = 'auto' | 'native' | 'wasm';

/**
 * Opens the place where numbers are computed. `auto` takes native TensorFlow where it is installed, else
 * wasm; the executor's `report` says which one it is and what would make it faster. One backend per thread of
 * the process.
 *
 * @throws NativeUnavailable when `native` is asked for and is not installed or does not load.
 */
export async function openBackend(
  choice: BackendChoice = 'auto',
  options: NativeOptions = {},
): Promise<Executor> {
  // Each carries its own TensorFlow.js, and two in one process warn of each other: only what is used is
  // loaded.
  if (choice !== 'wasm') {
    const { nativeInstalled, openNative } = await import('./executors/native.ts');
    if (choice === 'native' || nativeInstalled()) return openNative(options);
  }
  const { openWasm } = await import('./executors/wasm.ts');
  return openWasm();
}
