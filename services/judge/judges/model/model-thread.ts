import { Worker } from 'node:worker_threads';
import { prepareNativeEnvironment } from '../../../../shared/policy/backend.ts';
import { CLAW_NANO } from '../../../../shared/policy/model-folder.ts';
import { JudgeError } from '../../errors.ts';
import type { JudgeMessage } from '../openai/prompt.ts';
import type { FromThread, ModelSetup, Said, ToThread } from './thread-protocol.ts';

type Thread = {
  readonly worker: Worker;
  readonly report: string;
  /** what was asked and is not answered yet */
  readonly pending: Map<number, Pick<PromiseWithResolvers<Said>, 'resolve' | 'reject'>>;
};

/**
 * A language model on a thread of its own, which is started when it is first needed, and again after it has
 * ended. `setup` resolves once the model's files are here.
 */
export function openModelThread(model: string, setup: () => Promise<ModelSetup>) {
  let thread: Promise<Thread> | undefined;
  let worker: Worker | undefined;
  let lastId = 0;
  let isClosed = false;

  const start = async (): Promise<Thread> => {
    const workerData = await setup();
    if (isClosed) throw JudgeError.MODEL_ENDED({ reason: 'the judge is closed' });
    // a worker's own environment is a copy that TensorFlow does not see
    prepareNativeEnvironment(model === CLAW_NANO ? { threads: 1 } : {});
    const one = new Worker(new URL('./model-worker.ts', import.meta.url), { workerData });
    worker = one;
    const pending: Thread['pending'] = new Map();
    const ready = Promise.withResolvers<string>();
    ready.promise.catch(() => undefined);
    let isOver = false;
    const end = (error: Error) => {
      if (isOver) return; // what fails also exits, and by then another thread may have been started
      isOver = true;
      thread = undefined;
      ready.reject(error);
      for (const { reject } of pending.values())
        reject(JudgeError.MODEL_ENDED({ reason: 'code' in error ? String(error.code) : error.name }));
      pending.clear();
    };
    const take = (id: number) => {
      const asked = pending.get(id);
      pending.delete(id);
      return asked;
    };
    one.on('message', (message: FromThread) => {
      if (message.kind === 'ready') return ready.resolve(message.report);
      if (message.kind === 'said') return take(message.id)?.resolve(message.said);
      take(message.id)?.reject(JudgeError.MODEL_FAILED({ reason: message.reason }));
    });
    one.on('error', (error) => end(error as Error));
    one.on('exit', (code) => end(JudgeError.MODEL_ENDED({ reason: `its thread ended with code ${code}` })));
    return { worker: one, report: await ready.promise, pending };
  };
  const current = (): Promise<Thread> => {
    thread ??= start().catch((error: unknown) => {
      thread = undefined;
      throw error;
    });
    return thread;
  };

  return {
    /** Loads the model. Resolves with how it computes; rejects as findModel and openCheckpoint do. */
    open: async (): Promise<string> => (await current()).report,
    /** Rejects with MODEL_FAILED, MODEL_ENDED, as `open`, or with the signal's reason. */
    ask: async (messages: readonly JudgeMessage[], seed: number, signal: AbortSignal): Promise<Said> => {
      signal.throwIfAborted();
      lastId += 1;
      const id = lastId;
      const answer = Promise.withResolvers<Said>();
      let asked: Thread | undefined;
      const onAbort = () => {
        if (asked?.pending.delete(id)) asked.worker.postMessage({ kind: 'drop', id } satisfies ToThread);
        answer.reject(signal.reason);
      };
      signal.addEventListener('abort', onAbort, { once: true });
      current().then((one) => {
        if (signal.aborted) return;
        asked = one;
        one.pending.set(id, answer);
        one.worker.postMessage({ kind: 'ask', id, messages, seed } satisfies ToThread);
      }, answer.reject);
      return await answer.promise.finally(() => signal.removeEventListener('abort', onAbort));
    },
    close: async (): Promise<void> => {
      isClosed = true;
      await worker?.terminate();
    },
  };
}
