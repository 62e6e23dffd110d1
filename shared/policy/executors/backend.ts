import type { Executor } from './executor.ts';
import type { NativeOptions } from './native-environment.ts';

export type { Executor } from './executor.ts';
export { prepareNativeEnvironment } from './native-environment.ts';
export type BackendChoice = 'auto' | 'native' | 'wasm';

/**
 * Opens a backend. `auto` uses native TensorFlow if it is installed, else wasm; the executor's `report` says which
 * backend it is and how to make it faster. One backend per thread of the process.
 *
 * @throws NativeUnavailable if the choice is `native` and it is not installed or fails to load.
 */
export async function openBackend(
  choice: BackendChoice = 'auto',
  options: NativeOptions = {},
): Promise<Executor> {
  // Each backend has its own TensorFlow.js, and two in one process log warnings: load only the one that is used.
  if (choice !== 'wasm') {
    const { nativeInstalled, openNative } = await import('./native.ts');
    if (choice === 'native' || nativeInstalled()) return openNative(options);
  }
  const { openWasm } = await import('./wasm.ts');
  return openWasm();
}
