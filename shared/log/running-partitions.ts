export type RunningPartitions<Partition> = {
  /** Starts the wanted partitions that do not run yet, and stops all others. */
  readonly workOn: (wanted: ReadonlyMap<unknown, Partition>) => void;
  /** Rejects with the first failure of a partition. */
  readonly failed: Promise<never>;
  /** Stops all partitions. Resolves when the last run has ended. */
  readonly stop: () => Promise<void>;
};

/**
 * Runs the partitions that one member of a group works on.
 *
 * @param onEnded called after each run; the place to restart a partition that became wanted while it stopped
 */
export function runPartitions<Partition>(
  run: (partition: Partition, stop: AbortSignal) => Promise<unknown>,
  signal: AbortSignal,
  onEnded: () => void = () => {},
): RunningPartitions<Partition> {
  const running = new Map<unknown, { readonly stop: AbortController; readonly done: Promise<void> }>();
  const failure = Promise.withResolvers<never>();
  const start = (key: unknown, partition: Partition): void => {
    const stop = new AbortController();
    const done = run(partition, stop.signal)
      .catch(failure.reject)
      .then(() => {
        running.delete(key);
        onEnded();
      });
    running.set(key, { stop, done });
  };
  return {
    workOn: (wanted) => {
      for (const [key, { stop }] of running) if (!wanted.has(key)) stop.abort();
      if (signal.aborted) return;
      for (const [key, partition] of wanted) if (!running.has(key)) start(key, partition);
    },
    failed: failure.promise,
    stop: async () => {
      const stopping = [...running.values()];
      for (const { stop } of stopping) stop.abort();
      await Promise.all(stopping.map(({ done }) => done));
    },
  };
}
