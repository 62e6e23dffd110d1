import { ServingError } from '../../errors.ts';
import type { PolicyVersion } from '../../generation.ts';
import type { Job, NewJob } from './job.ts';
import type { LoadedVersion, Versions } from './versions.ts';

/** Requests that arrive: a pinned version is loaded before its request joins the queue. */
type Arrivals = {
  /**
   * Adds the choices of one request, in order. All fail with ENGINE_BUSY if they would exceed the limit of
   * waiting answers: the `waiting` ones and those that are arriving.
   */
  readonly add: (call: number, choices: readonly NewJob[], waiting: number) => void;
  /** An aborted request fails once its versions are loaded, and releases them. */
  readonly abort: (call: number) => void;
};

type Options = {
  readonly versions: Pick<Versions, 'retain' | 'release'>;
  /** Limit of answers that wait for a slot. */
  readonly maxWaiting: number;
  /** Answers of one version at the same time. */
  readonly maxBatch: number;
  /** All choices of a request, together. */
  readonly onArrived: (jobs: readonly Job[]) => void;
};

export function createArrivals({ versions, maxWaiting, maxBatch, onArrived }: Options): Arrivals {
  /** By request: the number of its choices, and whether it was aborted. */
  const arriving = new Map<number, { readonly count: number; readonly aborted: boolean }>();
  let nextId = 0;
  /** @throws ServingError VERSION_UNAVAILABLE, STOPPING */
  const arrive = async (call: number, choices: readonly NewJob[]): Promise<void> => {
    const jobs: Job[] = [];
    try {
      for (const { request, listener } of choices) {
        const { target } = request;
        const version = target.kind === 'pinned' ? await retainPinned(versions, target) : undefined;
        jobs.push({ id: nextId++, call, request, listener, version, answer: undefined });
      }
      if (arriving.get(call)?.aborted) throw ServingError.STOPPING();
    } catch (error) {
      for (const { version } of jobs) if (version !== undefined) versions.release(version);
      throw error;
    }
    arriving.delete(call);
    onArrived(jobs);
  };
  return {
    add: (call, choices, waiting) => {
      const failAll = (error: unknown) => {
        for (const { listener } of choices) listener.failed(error);
      };
      const before = [...arriving.values()].reduce((sum, { count }) => sum + count, waiting);
      if (before + choices.length > maxWaiting) {
        const retryAfterSeconds = Math.min(30, Math.ceil(maxWaiting / maxBatch));
        failAll(ServingError.ENGINE_BUSY({ waiting: before, retryAfterSeconds }));
        return;
      }
      arriving.set(call, { count: choices.length, aborted: false });
      arrive(call, choices)
        .catch(failAll)
        .finally(() => arriving.delete(call));
    },
    abort: (call) => {
      const request = arriving.get(call);
      if (request !== undefined) arriving.set(call, { ...request, aborted: true });
    },
  };
}

async function retainPinned(versions: Options['versions'], policy: PolicyVersion): Promise<LoadedVersion> {
  try {
    return await versions.retain(policy);
  } catch (error) {
    throw ServingError.VERSION_UNAVAILABLE({ version: policy.version, detail: (error as Error).message });
  }
}
