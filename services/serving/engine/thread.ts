import { Worker } from 'node:worker_threads';
import { isServiceError, type ServiceError } from '../../../shared/service/errors.ts';
import { ServingError } from '../errors.ts';

/** An error's way between threads: the row of the table, and what was said. */
type Failure = {
  readonly row: string;
  readonly message: string;
  readonly param: string | null;
  readonly retryAfterSeconds?: number;
};

export type ToThread =
  | { readonly kind: 'call'; readonly id: number; readonly name: string; readonly ask: unknown }
  | { readonly kind: 'abort'; readonly id: number };

export type FromThread =
  | { readonly kind: 'ready'; readonly report: string }
  | { readonly kind: 'event'; readonly id: number; readonly event: unknown }
  | { readonly kind: 'result'; readonly id: number; readonly result: unknown }
  | { readonly kind: 'failed'; readonly id: number; readonly failure: Failure };

export type Calls = Readonly<Record<string, { readonly ask: unknown; readonly result: unknown }>>;

export type CallOptions = {
  readonly onEvent?: (event: unknown) => void;
  /** Tells the thread to end the call early; what it then answers is its own decision. */
  readonly signal?: AbortSignal;
};

export type Thread<Known extends Calls> = {
  readonly report: string;
  /** Rejects with what the thread threw, or ENGINE_FAILED when the thread ended. */
  readonly call: <Name extends keyof Known & string>(
    name: Name,
    ask: Known[Name]['ask'],
    options?: CallOptions,
  ) => Promise<Known[Name]['result']>;
  readonly failed: Promise<never>;
  readonly close: () => Promise<void>;
};

type Pending = CallOptions & {
  readonly resolve: (result: never) => void;
  readonly reject: (error: unknown) => void;
};

/** How long a thread may take to start, and how much it may hold; else both are unbounded. */
export type ThreadLimits = { readonly startMs?: number; readonly heapMib?: number };

/** Starts a worker thread that answers calls. Resolves when it is ready; rejects when it ends before. */
export async function openThread<Known extends Calls>(
  module: URL,
  setup: unknown,
  { startMs, heapMib }: ThreadLimits = {},
): Promise<Thread<Known>> {
  const worker = new Worker(module, {
    workerData: setup,
    ...(heapMib === undefined ? {} : { resourceLimits: { maxOldGenerationSizeMb: heapMib } }),
  });
  const post = (message: ToThread) => worker.postMessage(message);
  const pending = new Map<number, Pending>();
  const ready = Promise.withResolvers<string>();
  const failed = Promise.withResolvers<never>();
  failed.promise.catch(() => {}); // who watches it is told; before that nobody may
  let nextId = 0;
  let closing = false;
  let ended: Error | undefined;

  const take = (id: number): Pending | undefined => {
    const call = pending.get(id);
    pending.delete(id);
    return call;
  };
  worker.on('message', (message: FromThread) => {
    switch (message.kind) {
      case 'ready':
        return ready.resolve(message.report);
      case 'event':
        return pending.get(message.id)?.onEvent?.(message.event);
      case 'result':
        return take(message.id)?.resolve(message.result as never);
      case 'failed':
        return take(message.id)?.reject(errorOf(message.failure));
    }
  });
  const end = (error: Error) => {
    ended ??= error;
    ready.reject(error);
    if (!closing) failed.reject(error);
    for (const call of pending.values()) call.reject(ServingError.ENGINE_FAILED({ detail: error.message }));
    pending.clear();
  };
  worker.on('error', (error) => end(error as Error));
  worker.on('exit', (code) => end(new Error(`a thread of the engine ended with code ${code}`)));

  const late = () => {
    end(new Error(`a thread of the engine did not start within ${startMs} ms`));
    void worker.terminate();
  };
  const timer = startMs === undefined ? undefined : setTimeout(late, startMs);
  return {
    report: await ready.promise.finally(() => clearTimeout(timer)),
    call: async (name, ask, options = {}) => {
      if (ended !== undefined) throw ServingError.ENGINE_FAILED({ detail: ended.message });
      const id = nextId++;
      const { signal } = options;
      const onAbort = () => post({ kind: 'abort', id });
      signal?.addEventListener('abort', onAbort, { once: true });
      const answered = new Promise<never>((resolve, reject) => {
        pending.set(id, { ...options, resolve, reject });
        post({ kind: 'call', id, name, ask });
      });
      return await answered.finally(() => signal?.removeEventListener('abort', onAbort));
    },
    failed: failed.promise,
    close: async () => {
      closing = true;
      await worker.terminate();
    },
  };
}

/** The other side: what a thread says when a call failed. */
export function failureOf(error: unknown): Failure {
  if (isServiceError(error)) {
    const { name, message, param, retryAfterSeconds } = error;
    return { row: name, message, param, ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }) };
  }
  const { message } = ServingError.ENGINE_FAILED({ detail: (error as Error).message });
  return { row: 'ENGINE_FAILED', message, param: null };
}

function errorOf({ row, ...said }: Failure): ServiceError {
  const rows: Readonly<Record<string, () => ServiceError>> = ServingError;
  return Object.assign(rows[row]!(), said);
}
