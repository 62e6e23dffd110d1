import { unlessAborted } from '../../../shared/lang/async.ts';

/** Admits at most `count` callers at a time, in order of arrival. */
export function createSlots(count: number) {
  let free = count;
  const waiting: (() => void)[] = [];
  const release = () => {
    const next = waiting.shift();
    if (next === undefined) free++;
    else next();
  };
  return {
    /** Resolves to a function that gives the slot back, once. @throws the signal's reason */
    enter: async (signal: AbortSignal): Promise<() => void> => {
      signal.throwIfAborted();
      if (free > 0) free--;
      else await queue(waiting, signal, release);
      let isHeld = true;
      return () => {
        if (isHeld) release();
        isHeld = false;
      };
    },
  };
}

async function queue(waiting: (() => void)[], signal: AbortSignal, release: () => void): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  waiting.push(resolve);
  try {
    await unlessAborted(promise, signal);
  } catch (error) {
    const place = waiting.indexOf(resolve);
    if (place >= 0) waiting.splice(place, 1);
    else release(); // the slot was given while the signal aborted
    throw error;
  }
}
