export type NativeOptions = {
  /**
   * Threads inside one op. Default: all cores; 1 is faster for decoding a model of a few million parameters.
   */
  readonly threads?: number;
  /** Told of every function that was made a graph: what it computes, its size, and how long that took, ms. */
  readonly onCompiled?: (event: {
    readonly name: string;
    readonly nodes: number;
    readonly ms: number;
  }) => void;
};

/**
 * For the environment that a computing process starts with: glibc reads it before any of ours runs. Weights and
 * activations then lie in huge pages where Linux gives them to who asks (`madvise`, the usual setting): a token
 * that is decoded alone reads all weights once, and misses few pages.
 */
export const allocatorEnvironment = { GLIBC_TUNABLES: 'glibc.malloc.hugetlb=1' } as const;

/**
 * Sets what TensorFlow reads from the environment, once, when it loads; what is set already stays.
 *
 * A worker thread has a copy of the environment that native code does not see: there, call this on the main
 * thread before the worker starts (or start the worker with `env: SHARE_ENV`).
 */
export function prepareNativeEnvironment({ threads }: NativeOptions = {}): void {
  const environment = process.env; // TensorFlow has no other way to be told
  environment.TF_CPP_MIN_LOG_LEVEL ??= '3';
  environment.TF_ENABLE_ONEDNN_OPTS ??= '1'; // off by default on some CPUs; up to twice as fast
  environment.TF_NUM_INTEROP_THREADS ??= '1';
  environment.TF_FORCE_GPU_ALLOW_GROWTH ??= 'true'; // else the first process takes all of a device's memory
  if (threads !== undefined) environment.TF_NUM_INTRAOP_THREADS ??= String(threads);
}

/** Threads inside one op, as TensorFlow was told: a number, or all. */
export const nativeThreads = (): string => process.env.TF_NUM_INTRAOP_THREADS ?? 'all';
