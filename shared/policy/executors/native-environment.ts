export type NativeOptions = {
  /**
   * Threads inside one op. Default: all cores; 1 is faster for decoding a model of a few million parameters.
   */
  readonly threads?: number;
  /** Called for every compiled graph, with its name, its size and the time, ms. */
  readonly onCompiled?: (event: {
    readonly name: string;
    readonly nodes: number;
    readonly ms: number;
  }) => void;
};

/**
 * Environment to start a computing process with; glibc reads it before our code runs. Weights and activations are
 * then in huge pages, if Linux provides them on request (`madvise`, the usual setting). Decoding a single token reads
 * all weights once, and then has few page misses.
 */
export const allocatorEnvironment = { GLIBC_TUNABLES: 'glibc.malloc.hugetlb=1' } as const;

/**
 * Sets the environment variables that TensorFlow reads when it loads; variables that are already set stay.
 *
 * A worker thread has a copy of the environment that native code does not see: there, call this on the main
 * thread before the worker starts (or start the worker with `env: SHARE_ENV`).
 */
export function prepareNativeEnvironment({ threads }: NativeOptions = {}): void {
  const environment = process.env; // TensorFlow has no other way to configure this
  environment.TF_CPP_MIN_LOG_LEVEL ??= '3';
  environment.TF_ENABLE_ONEDNN_OPTS ??= '1'; // off by default on some CPUs; up to twice as fast
  environment.TF_NUM_INTEROP_THREADS ??= '1';
  environment.TF_FORCE_GPU_ALLOW_GROWTH ??= 'true'; // else the first process takes all memory of a device
  if (threads !== undefined) environment.TF_NUM_INTRAOP_THREADS ??= String(threads);
}

/** Threads inside one op, as configured for TensorFlow: a number, or all. */
export const nativeThreads = (): string => process.env.TF_NUM_INTRAOP_THREADS ?? 'all';
