import { Worker } from 'node:worker_threads';
import { prepareNativeEnvironment } from '../../../shared/policy/backend.ts';
import type { ServiceError } from '../../../shared/service/errors.ts';
import { ServingError } from '../errors.ts';
import type { Engine, EngineCounters, Generated, GenerationListener } from './engine.ts';
import type { EngineSetup, Failure, FromEngine, ToEngine } from './protocol.ts';

type Call = {
  readonly listener?: GenerationListener;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
};

/**
 * The policy on this machine, in a thread of its own, so that HTTP never waits for a step. Resolves when the model is
 * loaded; rejects when it cannot be.
 */
export async function openLocalEngine(setup: EngineSetup): Promise<Engine> {
  prepareNativeEnvironment();
  const worker = new Worker(new URL('./worker.ts', import.meta.url), { workerData: setup });
  const post = (message: ToEngine) => worker.postMessage(message);
  const calls = new Map<number, Call>();
  let nextId = 0;
  let closing = false;
  const ready = Promise.withResolvers<Extract<FromEngine, { kind: 'ready' }>>();
  const failed = Promise.withResolvers<never>();
  failed.promise.catch(() => {}); // whoever watches it is told; before that nobody may

  const take = (id: number): Call | undefined => {
    const call = calls.get(id);
    calls.delete(id);
    return call;
  };
  worker.on('message', (message: FromEngine) => {
    switch (message.kind) {
      case 'ready':
        return ready.resolve(message);
      case 'started':
        return calls.get(message.id)?.listener?.onStart(message.started);
      case 'chunk':
        return calls.get(message.id)?.listener?.onChunk(message.chunk);
      case 'generated':
        return take(message.id)?.resolve(message.generated);
      case 'served':
        return take(message.id)?.resolve(undefined);
      case 'counters':
        return take(message.id)?.resolve(message.counters);
      case 'failed':
        return take(message.id)?.reject(errorOf(message.failure));
    }
  });
  const stop = (error: Error) => {
    ready.reject(error);
    if (!closing) failed.reject(error);
    for (const call of calls.values()) call.reject(ServingError.ENGINE_FAILED({ detail: error.message }));
    calls.clear();
  };
  worker.on('error', (error) => stop(error as Error));
  worker.on('exit', (code) => stop(new Error(`the engine's thread ended with code ${code}`)));

  const { report } = await ready.promise;
  const call = <Result>(
    message: (id: number) => ToEngine,
    listener?: GenerationListener,
    onId?: (id: number) => void,
  ) =>
    new Promise<Result>((resolve, reject) => {
      const id = nextId++;
      calls.set(id, { resolve: resolve as (value: unknown) => void, reject, ...(listener && { listener }) });
      onId?.(id);
      post(message(id));
    });

  return {
    name: 'local',
    report,
    generate: async (request, listener, signal) => {
      signal.throwIfAborted();
      let onAbort = () => {};
      const answer = call<Generated>(
        (id) => ({ kind: 'generate', id, request }),
        listener,
        (id) => {
          onAbort = () => post({ kind: 'abort', id });
          signal.addEventListener('abort', onAbort, { once: true });
        },
      );
      return await answer.finally(() => signal.removeEventListener('abort', onAbort));
    },
    serve: (policy) => call<void>((id) => ({ kind: 'serve', id, policy })),
    counters: () => call<EngineCounters>((id) => ({ kind: 'counters', id })),
    failed: failed.promise,
    close: async () => {
      closing = true;
      post({ kind: 'close' });
      await worker.terminate();
    },
  };
}

function errorOf({ row, message, param }: Failure): ServiceError {
  const rows: Readonly<Record<string, () => ServiceError>> = ServingError;
  const error = Object.hasOwn(rows, row) ? rows[row]!() : ServingError.ENGINE_FAILED();
  return Object.assign(error, { message, param });
}
