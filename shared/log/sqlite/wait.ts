import type { Store } from './store.ts';

/** Resolves as soon as `isEnough` holds, when the signal aborts, or after `timeoutMs`. */
export function nextEnds(
  store: Store,
  isEnough: () => boolean,
  signal: AbortSignal,
  timeoutMs?: number,
): Promise<void> {
  if (isEnough() || signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const finish = () => {
      stopListening();
      clearTimeout(timer);
      signal.removeEventListener('abort', finish);
      resolve();
    };
    const timer = timeoutMs === undefined ? undefined : setTimeout(finish, timeoutMs);
    const stopListening = store.onEnds(() => isEnough() && finish());
    signal.addEventListener('abort', finish);
  });
}
