import { withDeadline } from '../../../shared/lang/async.ts';
import { defined } from '../../../shared/lang/defined.ts';
import { isServiceError, type ServiceError } from '../../../shared/runtime/errors.ts';
import { type Calls, openWorker, type WorkerCalls } from '../../../shared/runtime/worker-calls.ts';
import { ServingError } from '../errors.ts';

/** An error as it is sent between threads: its name in `ServingError`, and its other fields. */
type Failure = {
  readonly row: string;
  readonly message: string;
  readonly param: string | null;
  readonly retryAfterSeconds?: number;
};

export type Thread<Known extends Calls> = {
  readonly report: string;
  /** Rejects with the error of the thread, or with ENGINE_FAILED if the thread ends. */
  readonly call: WorkerCalls<Known, string>['call'];
  readonly failed: Promise<never>;
  readonly close: () => Promise<void>;
};

/** Limits of a thread's start and heap; default: unlimited. */
export type ThreadLimits = { readonly startMs?: number; readonly heapMib?: number };

/** Starts a worker thread that answers calls. Resolves when it is ready; rejects if it ends before. */
export async function openThread<Known extends Calls>(
  module: URL,
  setup: unknown,
  { startMs, heapMib }: ThreadLimits = {},
): Promise<Thread<Known>> {
  const worker = openWorker<Known, string>(module, {
    workerData: setup,
    heapMib,
    errorOf: (failure) => errorOf(failure as Failure),
    exited: (code) => new Error(`a thread of the engine ended with code ${code}`),
    cutOff: ({ message }) => ServingError.ENGINE_FAILED({ detail: message }),
  });
  const failed = Promise.withResolvers<never>();
  failed.promise.catch(() => {}); // may reject before a listener is added
  let closing = false;
  worker.ended.catch((error) => closing || failed.reject(error));
  const late = () => {
    const error = new Error(`a thread of the engine did not start within ${startMs} ms`);
    void worker.end(error);
    throw error;
  };
  return {
    report: await (startMs === undefined ? worker.ready : withDeadline(worker.ready, startMs, late)),
    call: worker.call,
    failed: failed.promise,
    close: async () => {
      closing = true;
      await worker.end();
    },
  };
}

/** Converts the error of a failed call to the form in which the thread sends it. */
export function failureOf(error: unknown): Failure {
  if (isServiceError(error)) {
    const { name, message, param, retryAfterSeconds } = error;
    return { row: name, message, param, ...defined({ retryAfterSeconds }) };
  }
  const { message } = ServingError.ENGINE_FAILED({ detail: (error as Error).message });
  return { row: 'ENGINE_FAILED', message, param: null };
}

function errorOf({ row, ...fields }: Failure): ServiceError {
  const rows: Readonly<Record<string, () => ServiceError>> = ServingError;
  return Object.assign(rows[row]!(), fields);
}
