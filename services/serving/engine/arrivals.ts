import { ServingError } from '../errors.ts';
import type { PolicyVersion } from './engine.ts';
import type { AskedJob, Job } from './job.ts';
import type { LoadedVersion, Versions } from './versions.ts';

/** Requests on their way into the line: the version of each that names one is being loaded. */
export type Arrivals = {
  /**
   * The choices of one request, in their order. All fail with ENGINE_BUSY when too many wait already for all to
   * wait: those that `waiting` counts, and those that arrive.
   */
  readonly add: (call: number, choices: readonly AskedJob[], waiting: number) => void;
  /** One that is given up fails once its versions are there, which it lets go. */
  readonly abort: (call: number) => void;
};

type Options = {
  readonly versions: Pick<Versions, 'hold' | 'letGo'>;
  /** Answers that may wait for a place. */
  readonly maxWaiting: number;
  /** Answers of one version at the same time. */
  readonly maxBatch: number;
  /** All choices of a request, together. */
  readonly onArrived: (jobs: readonly Job[]) => void;
};

export function createArrivals({ versions, maxWaiting, maxBatch, onArrived }: Options): Arrivals {
  /** By request: its choices, and whether it was given up since. */
  const arriving = new Map<number, { readonly count: number; readonly aborted: boolean }>();
  let nextId = 0;
  /** @throws ServingError VERSION_UNAVAILABLE, STOPPING */
  const arrive = async (call: number, choices: readonly AskedJob[]): Promise<void> => {
    const jobs: Job[] = [];
    try {
      for (const { request, listener } of choices) {
        const { target } = request;
        const version = target.kind === 'pinned' ? await holdPinned(versions, target) : undefined;
        jobs.push({ id: nextId++, call, request, listener, version, answer: undefined });
      }
      if (arriving.get(call)?.aborted) throw ServingError.STOPPING();
    } catch (error) {
      for (const { version } of jobs) if (version !== undefined) versions.letGo(version);
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
      const arrives = arriving.get(call);
      if (arrives !== undefined) arriving.set(call, { ...arrives, aborted: true });
    },
  };
}

async function holdPinned(versions: Options['versions'], policy: PolicyVersion): Promise<LoadedVersion> {
  try {
    return await versions.hold(policy);
  } catch (error) {
    throw ServingError.VERSION_UNAVAILABLE({ version: policy.version, detail: (error as Error).message });
  }
}
