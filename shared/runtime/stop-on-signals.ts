/** exit code after Ctrl-C, as in shells */
export const INTERRUPTED = 130;

/**
 * The first signal aborts `stop`; the second ends the process at once.
 *
 * @param notice printed on the first signal
 * @returns a function that removes the signal handlers
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
