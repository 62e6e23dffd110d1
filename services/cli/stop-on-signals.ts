/** As shells tell of a program that Ctrl-C ended. */
export const INTERRUPTED = 130;

/**
 * The first signal ends what runs in order, the second one at once.
 *
 * @param notice what the first one is answered with
 * @returns what stops listening
 */
export function stopOnSignals(stop: AbortController, notice: string): () => void {
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
  const onSignal = () => {
    if (stop.signal.aborted) process.exit(INTERRUPTED);
    process.stderr.write(`\n${notice}\n`);
    stop.abort();
  };
  for (const signal of signals) process.on(signal, onSignal);
  return () => {
    for (const signal of signals) process.off(signal, onSignal);
  };
}
