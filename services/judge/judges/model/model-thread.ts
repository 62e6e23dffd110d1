import { unlessAborted } from '../../../../shared/lang/async.ts';
import { prepareNativeEnvironment } from '../../../../shared/policy/executors/backend.ts';
import { isShipped } from '../../../../shared/policy/model/model-folder.ts';
import { isServiceError } from '../../../../shared/runtime/errors.ts';
import { openWorker, type WorkerCalls } from '../../../../shared/runtime/worker-calls.ts';
import { JudgeError } from '../../errors.ts';
import type { JudgeMessage } from '../openai/prompt.ts';
import { threadExited, whyEnded } from '../thread-errors.ts';
import type { ModelCalls, ModelSetup, Said } from './thread-protocol.ts';

type Thread = WorkerCalls<ModelCalls, string>;

/**
 * A language model on its own thread. The thread starts at the first use, and again at the next use after it has
 * ended. `setup` resolves when the files of the model are on disk.
 */
export function openModelThread(model: string, setup: () => Promise<ModelSetup>) {
  let thread: Promise<Thread> | undefined;
  let last: Thread | undefined;
  let isClosed = false;

  const start = async (): Promise<Thread> => {
    const workerData = await setup();
    if (isClosed) throw JudgeError.MODEL_ENDED({ reason: 'the judge is closed' });
    // TensorFlow does not see the environment of a worker, which is a copy
    prepareNativeEnvironment(isShipped(model) ? { threads: 1 } : {});
    const one: Thread = openWorker(new URL('./model-worker.ts', import.meta.url), {
      workerData,
      errorOf: (reason) => JudgeError.MODEL_FAILED({ reason: String(reason) }),
      exited: (code) => modelEnded(threadExited(code)),
      cutOff: (cause) => (isServiceError(cause) ? cause : modelEnded(cause)),
    });
    last = one;
    one.ended.catch(() => {
      // by then another thread may have been started
      if (last === one) thread = undefined;
    });
    await one.ready;
    return one;
  };
  const current = (): Promise<Thread> => {
    thread ??= start().catch((error: unknown) => {
      thread = undefined;
      throw error;
    });
    return thread;
  };

  return {
    /** Loads the model. Resolves with a description of its backend; rejects like findModel and openCheckpoint. */
    open: async (): Promise<string> => (await current()).ready,
    /** Rejects with MODEL_FAILED, MODEL_ENDED, the errors of `open`, or the signal's reason. */
    ask: async (messages: readonly JudgeMessage[], seed: number, signal: AbortSignal): Promise<Said> => {
      signal.throwIfAborted();
      const answer = current().then((one) => {
        signal.throwIfAborted();
        return one.call('ask', { messages, seed }, { signal });
      });
      return unlessAborted(answer, signal);
    },
    close: async (): Promise<void> => {
      isClosed = true;
      await last?.end();
    },
  };
}

const modelEnded = (cause: Error) => JudgeError.MODEL_ENDED({ reason: whyEnded(cause) });
