import type { TrainingSettings } from '../../shared/events/training-settings.ts';
import { unlessAborted } from '../../shared/lang/async.ts';
import type { CheckpointState } from '../../shared/policy/checkpoints/state.ts';
import { prepareNativeEnvironment } from '../../shared/policy/executors/backend.ts';
import { monotonicNow } from '../../shared/runtime/clock.ts';
import { openWorker, type WorkerCalls } from '../../shared/runtime/worker-calls.ts';
import { TrainerError } from './errors.ts';
import type { StepInput, StepProgress } from './step.ts';
import {
  buffersOf,
  type Opened,
  type StepCalls,
  type Stepped,
  type WorkerSettings,
} from './step-protocol.ts';

export type RunStep = Stepped & { readonly milliseconds: number };

/** What a step needs besides its input if it leaves something outside of this machine. */
type StepHooks = {
  /** keeps the path of a state on a server until the checkpoint is committed */
  readonly onState: (path: string) => Promise<void>;
};

export type StepRunner = {
  /** Loads the model, unless it is loaded. Rejects when it cannot be. */
  readonly open: () => Promise<Opened>;
  /**
   * In this process one at a time. The parent's numbers are the thread's from then on. When the signal aborts, the thread is
   * ended in mid-step and the promise rejects with its reason.
   */
  readonly run: (
    input: StepInput,
    onProgress: (progress: StepProgress) => void,
    signal: AbortSignal,
    hooks: StepHooks,
  ) => Promise<RunStep>;
  /** Why a batch with these settings cannot be trained from this parent; undefined, or absent: it can. */
  readonly refusal?: (settings: TrainingSettings, parent: CheckpointState | undefined) => string | undefined;
  /** Removes a state on a server, if there is one. */
  readonly removeState?: (path: string) => Promise<void>;
  readonly close: () => Promise<void>;
};

type Thread = WorkerCalls<StepCalls, Opened>;

/**
 * Runs steps on a separate thread, which is started on demand, and restarted after it was ended or has failed.
 */
export function openStepRunner(settings: WorkerSettings): StepRunner {
  let thread: Thread | undefined;

  const start = (): Thread => {
    prepareNativeEnvironment({ threads: settings.threads }); // a worker's own environment is a copy that TensorFlow does not see
    const opened: Thread = openWorker(new URL('./step-worker.ts', import.meta.url), {
      workerData: settings,
      errorOf: (failure) => failure as Error,
      exited: (code) => TrainerError.WORKER_ENDED({ code }),
      cutOff: (cause) => cause,
    });
    opened.ended.catch(() => {
      if (thread === opened) thread = undefined;
    });
    return opened;
  };
  const current = (): Thread => {
    thread ??= start();
    return thread;
  };

  return {
    open: () => current().ready,
    run: async (input, onProgress, signal) => {
      signal.throwIfAborted();
      const worker = current();
      const stop = () => {
        if (thread === worker) thread = undefined; // the next step gets a new thread
        void worker.end();
        throw signal.reason;
      };
      await unlessAborted(worker.ready, signal, stop);
      const began = monotonicNow();
      const stepping = worker.call('step', input, {
        onEvent: (event) => onProgress(event as StepProgress),
        transfer: input.parent ? buffersOf(input.parent) : [],
      });
      const stepped = await unlessAborted(stepping, signal, stop);
      return { ...stepped, milliseconds: monotonicNow() - began };
    },
    close: async () => {
      await thread?.end();
    },
  };
}
