import { monotonicNow } from '../../../shared/service/clock.ts';
import { ServingError } from '../errors.ts';
import { createArrivals } from './arrivals.ts';
import type { EngineCounters, PolicyVersion } from './engine.ts';
import { type AskedJob, idsOf, type Job, type PlacedJob, type RunningJob } from './job.ts';
import { createPrefixWarmers } from './prefix-warmer.ts';
import type { SequenceRequest } from './protocol.ts';
import type { RecentPrompts } from './recent-prompts.ts';
import { createSamplingTurns } from './sampling-turns.ts';
import type { Sequence } from './sequence.ts';
import type { LoadedVersion, Versions } from './versions.ts';

export type Scheduler = {
  /**
   * The choices of one request: all are of the version that the first one begins with, and their prompt is
   * read once. All fail with ENGINE_BUSY when too many wait already for all to wait.
   */
  readonly add: (call: number, choices: readonly AskedJob[]) => void;
  readonly abort: (call: number) => void;
  /** Moves an adapter to a version between two steps. Rejects with STOPPING where the signal aborts before. */
  readonly serve: (adapter: string, policy: PolicyVersion, signal?: AbortSignal) => Promise<void>;
  readonly counters: () => SchedulerCounters;
};
export type SchedulerCounters = Omit<EngineCounters, 'tensors' | 'cachePositions' | 'prefixBlocks'>;

type Options = {
  readonly versions: Versions;
  /** Answers of one version at the same time. */
  readonly maxBatch: number;
  /** Answers that may wait for a place. */
  readonly maxWaiting: number;
  /** Made once per adapter, of its live version: what the next one reads before it is served. */
  readonly recentPrompts: () => RecentPrompts;
  readonly beginSequence: (request: SequenceRequest, cachedTokens: number) => Sequence;
  /** ms, of any beginning */
  readonly now?: () => number;
};

/** ms that a version may be kept from being served so that it reads what is likely to come again */
const WARM_LIMIT_MS = 30_000;

/**
 * Decides what the engine computes next. Each version's answers form a batch of its own; batches take
 * turns, a step each. Requests take a place between two steps; then their prompts are read, one piece of
 * one prompt between two steps, so that neither a burst nor a long prompt stalls the streams that run. The
 * choices of a request are read one after the other: the later ones find their prompt known.
 * Answers whose tokens take long to choose take turns within a batch.
 * Where the cache has no room for all, the youngest give up their places and go on later.
 */
export function createScheduler({
  versions,
  maxBatch,
  maxWaiting,
  recentPrompts,
  beginSequence,
  now = monotonicNow,
}: Options): Scheduler {
  /** by adapter */
  const live = new Map<string, { readonly version: LoadedVersion; readonly recent: RecentPrompts }>();
  const liveOf = ({ target }: SequenceRequest) =>
    target.kind === 'live' ? live.get(target.adapter) : undefined;
  const versionOf = ({ version, request }: Job) => version ?? liveOf(request)?.version;
  let waiting: readonly Job[] = [];
  /** In the order in which their next pieces are read. */
  let reading: readonly PlacedJob[] = [];
  let running: readonly RunningJob[] = [];
  const warmers = createPrefixWarmers(WARM_LIMIT_MS, now);
  const turns = createSamplingTurns(now);
  let looping = false;
  const counted = { steps: 0, stepSequences: 0, promptTokens: 0, cachedTokens: 0, preemptions: 0 };

  const leavePlace = (job: PlacedJob): void => {
    reading = reading.filter((other) => other.id !== job.id);
    running = running.filter((other) => other.id !== job.id);
    job.version.decoder.release(job.slot);
  };
  const end = (job: PlacedJob): void => {
    leavePlace(job);
    versions.letGo(job.version);
  };
  const fail = (job: PlacedJob, error: unknown): void => {
    end(job);
    job.listener.failed(error);
  };

  const sample = (job: RunningJob, logits: Float32Array): void => {
    const { sequence, ids } = job.answer;
    let taken: ReturnType<Sequence['take']>;
    try {
      taken = sequence.take(logits);
    } catch (error) {
      fail(job, error);
      return;
    }
    if (taken.chunk !== undefined) job.listener.chunk(taken.chunk);
    if (taken.next !== undefined) {
      ids.push(taken.next);
      return;
    }
    end(job);
    job.listener.generated(sequence.result(job.version.version));
  };

  const hasPlace = ({ decoder }: LoadedVersion): boolean =>
    [...reading, ...running].filter(({ version }) => version.decoder === decoder).length < maxBatch;
  /** Who waits for an answer comes before a version that reads ahead. */
  const findRoom = ({ decoder }: LoadedVersion, job: Job): boolean => {
    const hasRoom = () => decoder.hasRoom(idsOf(job).length);
    return hasRoom() || (warmers.giveUpPlace() && hasRoom());
  };

  /** One version for all choices. */
  const settleVersion = (call: number, version: LoadedVersion): void => {
    for (const job of waiting) if (job.call === call) versions.holdAgain(version);
    waiting = waiting.map((job) => (job.call === call ? { ...job, version } : job));
  };

  /**
   * Those at the head of the line of each version, as far as there are places. Room is of all versions: who
   * waits for much of it is not passed by those that came later and need little.
   */
  const admit = (): void => {
    const full = new Set<LoadedVersion>();
    for (const { id } of waiting) {
      const job = waiting.find((other) => other.id === id)!;
      const version = versionOf(job);
      if (version === undefined || full.has(version)) continue;
      if (!hasPlace(version)) {
        full.add(version);
        continue;
      }
      if (!findRoom(version, job)) return;
      // a pinned one is held since it came
      if (job.version === undefined) settleVersion(job.call, version);
      waiting = waiting.filter((other) => other.id !== id);
      try {
        const slot = version.decoder.begin(idsOf(job), job.request.cacheSalt);
        reading = [...reading, { ...job, version, slot }];
      } catch (error) {
        versions.letGo(version);
        job.listener.failed(error);
      }
    }
  };

  /** The youngest of all goes on when there is room again: what it has said stays said. */
  const preempt = (): void => {
    const youngest = [...reading, ...running].reduce((one, other) => (other.id > one.id ? other : one));
    leavePlace(youngest);
    waiting = [youngest, ...waiting];
    counted.preemptions += 1;
  };
  const makeRoom = (): void => {
    const short = () => [...reading, ...running].some(({ version }) => !version.decoder.canStep());
    while (short()) if (!warmers.giveUpPlace()) preempt();
  };

  const readOne = (): void => {
    const isNext = (job: Job) => !reading.some(({ call, id }) => call === job.call && id < job.id);
    const job = reading.find(isNext);
    if (job === undefined) return;
    const others = reading.filter((other) => other !== job);
    try {
      const read = job.version.decoder.read(job.slot);
      reading = read === undefined ? [...others, job] : others;
      if (read === undefined) return;
      const { cachedTokens, logits } = read;
      const isNew = job.answer === undefined;
      if (isNew) {
        counted.promptTokens += job.request.prompt.promptIds.length;
        counted.cachedTokens += cachedTokens;
        const served = liveOf(job.request);
        if (job.version === served?.version)
          served?.recent.add({ promptIds: job.request.prompt.promptIds, cacheSalt: job.request.cacheSalt });
      }
      const answer = job.answer ?? { sequence: beginSequence(job.request, cachedTokens), ids: [] };
      const begun: RunningJob = { ...job, answer };
      running = [...running, begun];
      if (isNew) job.listener.started(job.version.version);
      turns.timed(begun, () => sample(begun, logits));
    } catch (error) {
      fail(job, error);
    }
  };

  const stepAll = (): void => {
    const chosen = turns.next(running);
    for (const version of new Set(running.map((job) => job.version))) {
      makeRoom(); // the version before may have taken what there was
      const batch = running.filter((job) => job.version === version && chosen.has(job));
      if (batch.length === 0) continue;
      let logits: readonly Float32Array[];
      try {
        logits = version.decoder.step(batch.map(({ slot, answer }) => ({ slot, id: answer.ids.at(-1)! })));
      } catch (error) {
        for (const job of batch) fail(job, error);
        continue;
      }
      counted.steps += 1;
      counted.stepSequences += batch.length;
      for (const [index, job] of batch.entries()) turns.timed(job, () => sample(job, logits[index]!));
    }
  };

  const isIdle = () =>
    reading.length + running.length === 0 &&
    !warmers.isActive() &&
    waiting.every((job) => versionOf(job) === undefined);
  const loop = async (): Promise<void> => {
    if (looping) return;
    looping = true;
    while (!isIdle()) {
      admit();
      makeRoom();
      warmers.goOn(reading.length === 0);
      readOne();
      stepAll();
      await new Promise((resolve) => setImmediate(resolve)); // messages come in here
    }
    looping = false;
  };

  /** Ends a job that has no place any more, or had none yet. */
  const giveUp = ({ answer, version, listener }: Job): void => {
    if (version !== undefined) versions.letGo(version);
    if (answer === undefined) listener.failed(ServingError.STOPPING());
    else listener.generated(answer.sequence.result(version!.version));
  };

  const arrivals = createArrivals({
    versions,
    maxWaiting,
    maxBatch,
    onArrived: (jobs) => {
      waiting = [...waiting, ...jobs];
      void loop();
    },
  });

  return {
    add: (call, choices) => arrivals.add(call, choices, waiting.length),
    abort: (call) => {
      arrivals.abort(call);
      const waits = waiting.filter((job) => job.call === call);
      const placed = [...reading, ...running].filter((job) => job.call === call);
      waiting = waiting.filter((job) => job.call !== call);
      for (const job of placed) leavePlace(job);
      for (const job of [...waits, ...placed]) giveUp(job);
    },
    serve: async (adapter, policy, signal) => {
      const warmer = warmers.of(adapter);
      signal?.addEventListener('abort', warmer.stop, { once: true });
      const next = await versions.hold(policy);
      // A lower number is a rollback: what it leaves is to answer nobody any more.
      const now = live.get(adapter);
      const isRollback = now !== undefined && next.version < now.version.version;
      const recent = now?.recent ?? recentPrompts();
      const warmed = warmer.warm(next, isRollback || signal?.aborted ? [] : recent.latest());
      void loop();
      await warmed;
      if (signal?.aborted) {
        versions.letGo(next);
        throw ServingError.STOPPING();
      }
      const before = live.get(adapter);
      live.set(adapter, { version: next, recent: before?.recent ?? recent });
      if (before !== undefined) versions.letGo(before.version);
      void loop();
    },
    counters: () => ({
      running: reading.length + running.length,
      waiting: waiting.length,
      versions: versions.inMemory(),
      ...counted,
    }),
  };
}
