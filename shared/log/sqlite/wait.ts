import { unlessAborted, withDeadline } from '../../lang/async.ts';
import type { Store } from './store.ts';

/** Resolves as soon as `isEnough` holds, when the signal aborts, or after `timeoutMs`. */
export async function nextEnds(
  store: Store,
  isEnough: () => boolean,
  signal: AbortSignal,
  timeoutMs?: number,
): Promise<void> {
  if (isEnough() || signal.aborted) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  const stopListening = store.onEnds(() => isEnough() && resolve());
  const ended = unlessAborted(promise, signal, () => {});
  await (timeoutMs === undefined ? ended : withDeadline(ended, timeoutMs, () => {}));
  stopListening();
  resolve(); // removes the listener on the signal
}
