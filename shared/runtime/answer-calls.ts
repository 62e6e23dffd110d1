import { parentPort } from 'node:worker_threads';
import type { Calls, FromWorker, ToWorker } from './worker-calls.ts';

/** One call, as the thread sees it. */
export type OneCall = {
  readonly id: number;
  /** Aborts when the caller wants the call to end early. */
  readonly signal: AbortSignal;
  readonly tell: (event: unknown) => void;
  /** Names buffers of the result that go to the caller without a copy. */
  readonly handOver: (buffers: readonly ArrayBuffer[]) => void;
};

export type Handlers<Known extends Calls> = {
  readonly [Name in keyof Known]: (
    ask: Known[Name]['ask'],
    call: OneCall,
  ) => Known[Name]['result'] | Promise<Known[Name]['result']>;
};

/**
 * Answers calls in a worker thread, and reports that the thread is ready. Calls run side by side if their
 * handlers are asynchronous.
 *
 * @param failureOf converts an error to a value that can be cloned, with the details that the caller may see
 */
export function answerCalls<Known extends Calls>(
  handlers: Handlers<Known>,
  failureOf: (error: unknown) => unknown,
  report?: unknown,
): void {
  const port = parentPort!;
  const post = (message: FromWorker, handed: readonly ArrayBuffer[] = []) =>
    port.postMessage(message, handed);
  const running = new Map<number, AbortController>();
  const answer = async (id: number, name: string, ask: unknown): Promise<void> => {
    const stop = new AbortController();
    running.set(id, stop);
    let handed: readonly ArrayBuffer[] = [];
    const handOver = (buffers: readonly ArrayBuffer[]) => {
      handed = buffers;
    };
    const tell = (event: unknown) => post({ kind: 'event', id, event });
    try {
      const result = await handlers[name]!(ask, { id, signal: stop.signal, tell, handOver });
      post({ kind: 'result', id, result }, handed);
    } catch (error) {
      post({ kind: 'failed', id, failure: failureOf(error) });
    } finally {
      running.delete(id);
    }
  };
  port.on('message', (message: ToWorker) => {
    if (message.kind === 'abort') running.get(message.id)?.abort();
    else void answer(message.id, message.name, message.ask);
  });
  post({ kind: 'ready', report });
}
