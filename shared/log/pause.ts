import { setTimeout } from 'node:timers/promises';

/** Resolves after `ms`, or when the signal aborts. */
export const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  setTimeout(ms, undefined, { signal }).catch((error: Error) => {
    if (error.name !== 'AbortError') throw error;
  });
