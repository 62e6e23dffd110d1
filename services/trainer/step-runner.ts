import { Worker } from 'node:worker_threads';
import { prepareNativeEnvironment } from '../../shared/policy/backend.ts';
import { monotonicNow } from '../../shared/service/clock.ts';
import { TrainerError } from './errors.ts';
import type { Candidate, NoCandidate, StepInput, StepProgress } from './step.ts';
import { buffersOf, type StepRequest, type WorkerMessage, type WorkerSettings } from './step-protocol.ts';

export type RunStep = {
  readonly result: Candidate | NoCandidate;
  readonly fingerprint: string;
  readonly milliseconds: number;
  /** alive on the backend after the step */
  readonly tensors: number;
};

export type StepRunner = {
  /** Loads the model, unless it is loaded. Rejects when it cannot be. */
  readonly open: () => Promise<{ readonly report: string; readonly fingerprint: string }>;
  /**
   * One at a time. The parent's numbers are the thread's from then on. When the signal aborts, the thread is ended in mid-step and the promise rejects with its
   * reason.
   */
  readonly run: (
    input: StepInput,
    onProgress: (progress: StepProgress) => void,
    signal: AbortSignal,
  ) => Promise<RunStep>;
  readonly close: () => Promise<void>;
};

type Thread = {
  readonly worker: Worker;
  readonly opened: Promise<{ readonly report: string; readonly fingerprint: string }>;
};

/**
 * Runs steps on a thread of its own, which is started when it is needed and again after it was ended or has
 * failed.
 */
export function openStepRunner(settings: WorkerSettings): StepRunner {
  let thread: Thread | undefined;
  let lastId = 0;

  const start = (): Thread => {
    prepareNativeEnvironment({ threads: settings.threads }); // a worker's own environment is a copy that TensorFlow does not see
    const worker = new Worker(new URL('./step-worker.ts', import.meta.url), { workerData: settings });
    const ended = new Promise<never>((_, reject) => {
      worker.on('error', reject);
      worker.on('exit', (code) => reject(TrainerError.WORKER_ENDED({ code })));
    });
    const current: Thread = {
      worker,
      opened: Promise.race([
        ended,
        new Promise<{ report: string; fingerprint: string }>((resolve) => {
          worker.on('message', (message: WorkerMessage) => {
            if (message.kind === 'opened') resolve(message);
          });
        }),
      ]),
    };
    ended.catch(() => {
      if (thread === current) thread = undefined;
    });
    return current;
  };
  const current = (): Thread => {
    thread ??= start();
    return thread;
  };

  return {
    open: () => current().opened,
    run: async (input, onProgress, signal) => {
      signal.throwIfAborted();
      const { worker, opened } = current();
      const stop = Promise.withResolvers<never>();
      const onAbort = () => {
        thread = undefined; // the next step gets a new one
        void worker.terminate();
        stop.reject(signal.reason);
      };
      signal.addEventListener('abort', onAbort, { once: true });
      lastId += 1;
      const id = lastId;
      let listener: ((message: WorkerMessage) => void) | undefined;
      // Listeners of its own, taken off in the end: a race against a promise of the thread's whole life would
      // keep the result of every step for as long.
      const done = Promise.withResolvers<Extract<WorkerMessage, { kind: 'result' }>>();
      const onExit = (code: number) => done.reject(TrainerError.WORKER_ENDED({ code }));
      done.promise.catch(() => undefined); // the thread may end before anybody waits for the result
      worker.once('error', done.reject);
      worker.once('exit', onExit);
      try {
        await Promise.race([opened, stop.promise]);
        const began = monotonicNow();
        listener = (message) => {
          if (message.kind === 'opened' || message.id !== id) return;
          if (message.kind === 'progress') onProgress(message.progress);
          if (message.kind === 'result') done.resolve(message);
          if (message.kind === 'error') done.reject(message.error);
        };
        worker.on('message', listener);
        worker.postMessage({ id, input } satisfies StepRequest, input.parent ? buffersOf(input.parent) : []);
        const { result, fingerprint, tensors } = await Promise.race([done.promise, stop.promise]);
        return { result, fingerprint, milliseconds: monotonicNow() - began, tensors };
      } finally {
        signal.removeEventListener('abort', onAbort);
        worker.off('error', done.reject);
        worker.off('exit', onExit);
        if (listener !== undefined) worker.off('message', listener);
      }
    },
    close: async () => {
      await thread?.worker.terminate();
    },
  };
}
