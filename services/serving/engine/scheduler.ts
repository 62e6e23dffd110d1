import { ServingError } from '../errors.ts';
import type { AnswerChunk, EngineCounters, Generated, PolicyVersion } from './engine.ts';
import type { SequenceRequest } from './protocol.ts';
import type { Sequence } from './sequence.ts';
import type { LoadedVersion, Versions } from './versions.ts';

/** What the scheduler tells of one request. */
export type JobListener = {
  readonly started: (version: number) => void;
  readonly chunk: (chunk: AnswerChunk) => void;
  readonly generated: (generated: Generated) => void;
  readonly failed: (error: unknown) => void;
};

export type Scheduler = {
  readonly add: (id: number, request: SequenceRequest, listener: JobListener) => void;
  readonly abort: (id: number) => void;
  /** Moves the live alias between two steps. */
  readonly serve: (policy: PolicyVersion) => Promise<void>;
  readonly counters: () => Omit<EngineCounters, 'tensors'>;
};

type Options = {
  readonly versions: Versions;
  readonly maxBatch: number;
  readonly beginSequence: (request: SequenceRequest) => Sequence;
};

type Waiting = {
  readonly id: number;
  readonly request: SequenceRequest;
  readonly listener: JobListener;
  /** held already; undefined: the live one, whichever it is then */
  readonly pinned: LoadedVersion | undefined;
};
type Running = Waiting & { readonly slot: number; readonly sequence: Sequence; next: number };

/**
 * Decides what the engine computes next. Each version's answers form a batch of its own; batches take
 * turns, a step each. New requests join between two steps, one at a time, so that a burst of prompts does
 * not stall the streams that run.
 */
export function createScheduler({ versions, maxBatch, beginSequence }: Options): Scheduler {
  let live: LoadedVersion | undefined;
  let waiting: Waiting[] = [];
  const batches = new Map<LoadedVersion, Running[]>();
  /** Those whose version is still being loaded, and whether they were given up meanwhile. */
  const arriving = new Map<number, 'wanted' | 'aborted'>();
  let looping = false;
  let steps = 0;
  let stepSequences = 0;

  const end = (version: LoadedVersion, job: Running): void => {
    const batch = batches.get(version)!.filter((other) => other !== job);
    if (batch.length === 0) batches.delete(version);
    else batches.set(version, batch);
    version.decoder.release(job.slot);
    versions.letGo(version.version);
  };

  const fail = (version: LoadedVersion, job: Running, error: unknown): void => {
    end(version, job);
    job.listener.failed(error);
  };

  const sample = (version: LoadedVersion, job: Running, logits: Float32Array): void => {
    let taken: ReturnType<Sequence['take']>;
    try {
      taken = job.sequence.take(logits);
    } catch (error) {
      fail(version, job, error);
      return;
    }
    if (taken.chunk !== undefined) job.listener.chunk(taken.chunk);
    if (taken.next !== undefined) {
      job.next = taken.next;
      return;
    }
    end(version, job);
    job.listener.generated(job.sequence.result(version.version));
  };

  /** The first that waits and whose version has a place. */
  const admitOne = async (): Promise<void> => {
    const hasPlace = (job: Waiting) => {
      const version = job.pinned ?? live;
      return version !== undefined && (batches.get(version)?.length ?? 0) < maxBatch;
    };
    const job = waiting.find(hasPlace);
    if (job === undefined) return;
    waiting = waiting.filter((other) => other !== job);
    // A pinned one is held since it came; the live one is in memory, so that holding it does not wait.
    const version = job.pinned ?? live!;
    if (job.pinned === undefined) await versions.hold({ version: version.version });
    let admitted: { readonly slot: number; readonly logits: Float32Array };
    try {
      admitted = version.decoder.admit(job.request.prompt.promptIds);
    } catch (error) {
      versions.letGo(version.version);
      job.listener.failed(error);
      return;
    }
    const running: Running = {
      ...job,
      slot: admitted.slot,
      sequence: beginSequence(job.request),
      next: 0,
    };
    batches.set(version, [...(batches.get(version) ?? []), running]);
    job.listener.started(version.version);
    sample(version, running, admitted.logits);
  };

  const stepAll = (): void => {
    for (const [version, batch] of [...batches]) {
      let logits: readonly Float32Array[];
      try {
        logits = version.decoder.step(batch.map(({ slot, next }) => ({ slot, id: next })));
      } catch (error) {
        for (const job of batch) fail(version, job, error);
        continue;
      }
      steps += 1;
      stepSequences += batch.length;
      for (const [index, job] of batch.entries()) sample(version, job, logits[index]!);
    }
  };

  const isIdle = () => batches.size === 0 && !waiting.some(({ pinned }) => (pinned ?? live) !== undefined);
  const loop = async (): Promise<void> => {
    if (looping) return;
    looping = true;
    while (!isIdle()) {
      await admitOne();
      stepAll();
      await new Promise((resolve) => setImmediate(resolve)); // messages come in here
    }
    looping = false;
  };

  return {
    add: (id, request, listener) => {
      const enqueue = async (): Promise<void> => {
        const { target } = request;
        const pinned = target.kind === 'pinned' ? await holdPinned(versions, target) : undefined;
        if (arriving.get(id) === 'aborted') {
          if (pinned !== undefined) versions.letGo(pinned.version);
          throw ServingError.STOPPING();
        }
        waiting.push({ id, request, listener, pinned });
        void loop();
      };
      arriving.set(id, 'wanted');
      enqueue()
        .catch(listener.failed)
        .finally(() => arriving.delete(id));
    },
    abort: (id) => {
      if (arriving.has(id)) arriving.set(id, 'aborted');
      const waits = waiting.find((job) => job.id === id);
      if (waits !== undefined) {
        waiting = waiting.filter((job) => job !== waits);
        if (waits.pinned !== undefined) versions.letGo(waits.pinned.version);
        waits.listener.failed(ServingError.STOPPING());
        return;
      }
      for (const [version, batch] of batches) {
        const job = batch.find((one) => one.id === id);
        if (job === undefined) continue;
        end(version, job);
        job.listener.generated(job.sequence.result(version.version));
        return;
      }
    },
    serve: async (policy) => {
      const next = await versions.hold(policy);
      const before = live;
      live = next;
      if (before !== undefined) versions.letGo(before.version);
      void loop();
    },
    counters: () => ({
      running: [...batches.values()].reduce((sum, batch) => sum + batch.length, 0),
      waiting: waiting.length,
      versions: versions.inMemory(),
      steps,
      stepSequences,
    }),
  };
}

async function holdPinned(versions: Versions, policy: PolicyVersion): Promise<LoadedVersion> {
  try {
    return await versions.hold(policy);
  } catch (error) {
    throw ServingError.VERSION_UNAVAILABLE({ version: policy.version, detail: (error as Error).message });
  }
}
