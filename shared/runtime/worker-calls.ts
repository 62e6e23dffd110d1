import { Worker } from 'node:worker_threads';
import { defined } from '../lang/defined.ts';

/** The calls of a worker thread, by name. */
export type Calls = Readonly<Record<string, { readonly ask: unknown; readonly result: unknown }>>;

export type ToWorker =
  | { readonly kind: 'call'; readonly id: number; readonly name: string; readonly ask: unknown }
  | { readonly kind: 'abort'; readonly id: number };

export type FromWorker =
  | { readonly kind: 'ready'; readonly report: unknown }
  | { readonly kind: 'event'; readonly id: number; readonly event: unknown }
  | { readonly kind: 'result'; readonly id: number; readonly result: unknown }
  | { readonly kind: 'failed'; readonly id: number; readonly failure: unknown };

export type WorkerOptions = {
  readonly workerData?: unknown;
  readonly heapMib?: number | undefined;
  /** Restores the error of a failed call from the value that `failureOf` returned in the thread. */
  readonly errorOf: (failure: unknown) => Error;
  /** The cause of the end of a thread that exited without an error. */
  readonly exited: (code: number) => Error;
  /** The error of a call that the end of the thread cut off. */
  readonly cutOff: (cause: Error) => Error;
};

export type CallOptions = {
  readonly onEvent?: (event: unknown) => void;
  /** Asks the thread to end the call early; the thread decides how the call ends. */
  readonly signal?: AbortSignal;
  /** Memory that goes to the thread without a copy. */
  readonly transfer?: readonly ArrayBuffer[];
};

export type WorkerCalls<Known extends Calls, Report> = {
  /** What the thread reported when it was ready. Rejects when it ends before. */
  readonly ready: Promise<Report>;
  /** Rejects when the thread ends. */
  readonly ended: Promise<never>;
  readonly call: <Name extends keyof Known & string>(
    name: Name,
    ask: Known[Name]['ask'],
    options?: CallOptions,
  ) => Promise<Known[Name]['result']>;
  /** Ends the thread at once. With a cause, its calls are cut off for that cause. */
  readonly end: (cause?: Error) => Promise<void>;
};

type Pending = Pick<CallOptions, 'onEvent'> & Pick<PromiseWithResolvers<never>, 'resolve' | 'reject'>;

/** Starts a worker thread whose module ends in `answerCalls` (answer-calls.ts). */
export function openWorker<Known extends Calls, Report>(
  module: URL,
  { workerData, heapMib, errorOf, exited, cutOff }: WorkerOptions,
): WorkerCalls<Known, Report> {
  const worker = new Worker(module, { workerData, ...(heapMib === undefined ? {} : limitedTo(heapMib)) });
  const pending = new Map<number, Pending>();
  const ready = Promise.withResolvers<Report>();
  const ended = Promise.withResolvers<never>();
  for (const { promise } of [ready, ended]) promise.catch(() => {}); // a caller may await them later
  let lastId = 0;
  let cause: Error | undefined;

  const take = (id: number): Pending | undefined => {
    const call = pending.get(id);
    pending.delete(id);
    return call;
  };
  const finish = (why: Error): void => {
    if (cause !== undefined) return;
    cause = why;
    ready.reject(why);
    ended.reject(why);
    for (const { reject } of pending.values()) reject(cutOff(why));
    pending.clear();
  };
  worker.on('message', (message: FromWorker) => {
    switch (message.kind) {
      case 'ready':
        return ready.resolve(message.report as Report);
      case 'event':
        return pending.get(message.id)?.onEvent?.(message.event);
      case 'result':
        return take(message.id)?.resolve(message.result as never);
      case 'failed':
        return take(message.id)?.reject(errorOf(message.failure));
    }
  });
  worker.on('error', (error) => finish(error as Error));
  worker.on('exit', (code) => finish(exited(code)));

  return {
    ready: ready.promise,
    ended: ended.promise,
    call: async (name, ask, { onEvent, signal, transfer = [] } = {}) => {
      if (cause !== undefined) throw cutOff(cause);
      const id = ++lastId;
      const { promise, resolve, reject } = Promise.withResolvers<never>();
      const post = (message: ToWorker, handed: readonly ArrayBuffer[] = []) =>
        worker.postMessage(message, handed);
      const onAbort = () => post({ kind: 'abort', id });
      post({ kind: 'call', id, name, ask }, transfer);
      pending.set(id, { resolve, reject, ...defined({ onEvent }) });
      signal?.addEventListener('abort', onAbort, { once: true });
      return promise.finally(() => signal?.removeEventListener('abort', onAbort));
    },
    end: async (why) => {
      if (why !== undefined) finish(why);
      await worker.terminate();
    },
  };
}

/**
 * A thread that exceeds its heap ends alone. At its end Node would compile its modules again for the compile cache,
 * which needs heap, and running out of it then aborts the whole process.
 */
const limitedTo = (heapMib: number) => ({
  resourceLimits: { maxOldGenerationSizeMb: heapMib },
  env: { ...process.env, NODE_DISABLE_COMPILE_CACHE: '1' },
});
