import { setTimeout as sleep } from 'node:timers/promises';
import { defined } from './defined.ts';

/** Resolves after `ms`, or when the signal aborts. */
export const pause = (ms: number, signal?: AbortSignal): Promise<void> =>
  sleep(ms, undefined, defined({ signal })).catch((error: Error) => {
    if (error.name !== 'AbortError') throw error;
  });

/**
 * Settles like `work`, or after `ms` with the result or error of `onLate`. Does not stop the work.
 */
export function withDeadline<Value, Late>(
  work: Promise<Value>,
  ms: number,
  onLate: () => Late,
): Promise<Value | Late> {
  const { promise, resolve, reject } = Promise.withResolvers<Value | Late>();
  const timer = setTimeout(() => resolve(attempt(onLate)), ms);
  work.then(resolve, reject).finally(() => clearTimeout(timer));
  return promise;
}

/**
 * Settles like `work`, or when the signal aborts with the result or error of `onAbort`; default: rejects with the
 * signal's reason. Does not stop the work. Leaves no listener on the signal.
 */
export function unlessAborted<Value, Aborted = never>(
  work: Promise<Value>,
  signal: AbortSignal,
  onAbort: () => Aborted = () => {
    throw signal.reason;
  },
): Promise<Value | Aborted> {
  const { promise, resolve, reject } = Promise.withResolvers<Value | Aborted>();
  const abort = () => resolve(attempt(onAbort));
  if (signal.aborted) abort();
  else signal.addEventListener('abort', abort, { once: true });
  work.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  return promise;
}

const attempt = async <Value>(call: () => Value): Promise<Value> => call();

/** Resolves when the signal aborts. */
export const aborted = (signal: AbortSignal): Promise<void> =>
  unlessAborted(new Promise<never>(() => {}), signal, () => {});

/** An endless sequence of waits in ms that double from `first` up to `longest`. */
export function* doubling(first: number, longest: number): Generator<number, never> {
  for (let ms = first; ; ms = Math.min(2 * ms, longest)) yield ms;
}

export type RetryOptions = {
  /** ms before each further attempt. After the last wait, the next failure is thrown. */
  readonly waits: Iterable<number>;
  /** Called after each failure; throws to stop retrying. */
  readonly onFailure?: (error: unknown) => void | Promise<void>;
  /** When it aborts, the last failure is thrown. */
  readonly signal?: AbortSignal;
};

/** Repeats `work` until it succeeds, `onFailure` throws, the waits end or the signal aborts. */
export async function retry<Result>(
  work: () => Promise<Result>,
  { waits, onFailure, signal }: RetryOptions,
): Promise<Result> {
  const wait = waits[Symbol.iterator]();
  for (;;) {
    try {
      return await work();
    } catch (error) {
      await onFailure?.(error);
      const next = wait.next();
      if (next.done || signal?.aborted) throw error;
      await pause(next.value, signal);
      if (signal?.aborted) throw error;
    }
  }
}

/** Runs one task at a time, in order. A waiting task is removed when its signal aborts. */
export type Mutex = <Result>(work: () => Promise<Result>, signal?: AbortSignal) => Promise<Result>;

export function createMutex(): Mutex {
  let last: Promise<void> = Promise.resolve();
  return async (work, signal) => {
    const { promise: done, resolve: release } = Promise.withResolvers<void>();
    const before = last;
    last = before.then(() => done);
    try {
      signal?.throwIfAborted();
      await (signal === undefined ? before : unlessAborted(before, signal));
      return await work();
    } finally {
      release();
    }
  };
}

/** Runs one task per name at a time; tasks with different names do not wait for each other. */
export function createInTurn(): <Result>(name: string, work: () => Promise<Result>) => Promise<Result> {
  const lines = new Map<string, { readonly run: Mutex; works: number }>();
  return async (name, work) => {
    const line = lines.get(name) ?? { run: createMutex(), works: 0 };
    lines.set(name, line);
    line.works += 1;
    try {
      return await line.run(work);
    } finally {
      line.works -= 1;
      if (line.works === 0) lines.delete(name);
    }
  };
}

/** Runs `task` repeatedly until the signal aborts, with a pause of `ms` after each run. */
export async function every(
  ms: number,
  task: () => Promise<unknown>,
  signal: AbortSignal,
  onFailure: (error: unknown) => void = (error) => {
    throw error;
  },
): Promise<void> {
  for (;;) {
    await pause(ms, signal);
    if (signal.aborted) return;
    await task().catch(onFailure);
  }
}
