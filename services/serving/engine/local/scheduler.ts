import { monotonicNow } from '../../../../shared/runtime/clock.ts';
import { ServingError } from '../../errors.ts';
import type { EngineCounters, PolicyVersion } from '../../generation.ts';
import type { SequenceRequest } from '../sequence-text.ts';
import { createArrivals } from './arrivals.ts';
import { idsOf, type Job, type NewJob, type PlacedJob, type RunningJob } from './job.ts';
import { createLiveVersions } from './live-versions.ts';
import { createPrefixWarmers } from './prefix-warmer.ts';
import type { RecentPrompts } from './recent-prompts.ts';
import type { Sequence } from './sequence.ts';
import { createSamplingRotation } from './slow-sampling.ts';
import type { LoadedVersion, Versions } from './versions.ts';

type Scheduler = {
  /**
   * Adds the choices of one request. All are of the version that the first begins with, and their prompt is
   * read once. All fail with ENGINE_BUSY if they would exceed the limit of waiting answers.
   */
  readonly add: (call: number, choices: readonly NewJob[]) => void;
  readonly abort: (call: number) => void;
  /** Moves an adapter to a version between two steps. Rejects with STOPPING if the signal aborts first. */
  readonly serve: (adapter: string, policy: PolicyVersion, signal?: AbortSignal) => Promise<void>;
  readonly counters: () => SchedulerCounters;
};
type SchedulerCounters = Omit<EngineCounters, 'tensors' | 'cachePositions' | 'prefixBlocks'>;

type Options = {
  readonly versions: Versions;
  /** Limit of concurrent answers of one version. */
  readonly maxBatch: number;
  /** Limit of answers that wait for a slot. */
  readonly maxWaiting: number;
  /** Called once per adapter: the prompts that its next version reads before it is served. */
  readonly recentPrompts: () => RecentPrompts;
  readonly beginSequence: (request: SequenceRequest, cachedTokens: number) => Sequence;
  /** ms, monotonic */
  readonly now?: () => number;
};

/** ms that a version may spend on warm-up before it is served */
const WARM_LIMIT_MS = 30_000;

export const createScheduler = (options: Options): Scheduler => new BatchScheduler(options);

/**
 * Decides what the engine computes next. The answers of each version form a batch; batches alternate, one step
 * each. Requests get a slot between two steps. Prompts are read piece by piece, one piece between two steps, so
 * that neither a burst nor a long prompt stalls running streams. The choices of a request are read one after
 * the other, so that later choices find their prompt cached. Within a batch, answers whose tokens are slow to
 * choose alternate. If the cache has no room for all answers, the youngest lose their slots and continue later.
 */
class BatchScheduler implements Scheduler {
  readonly #versions: Versions;
  readonly #maxBatch: number;
  readonly #beginSequence: Options['beginSequence'];
  readonly #arrivals: ReturnType<typeof createArrivals>;
  readonly #warmers: ReturnType<typeof createPrefixWarmers>;
  readonly #rotation: ReturnType<typeof createSamplingRotation>;
  readonly #live: ReturnType<typeof createLiveVersions>;
  readonly #totals = { steps: 0, stepSequences: 0, promptTokens: 0, cachedTokens: 0, preemptions: 0 };
  #waiting: readonly Job[] = [];
  /** In the order of their next pieces. */
  #reading: readonly PlacedJob[] = [];
  #running: readonly RunningJob[] = [];
  #isLooping = false;

  constructor({ versions, maxBatch, maxWaiting, recentPrompts, beginSequence, now = monotonicNow }: Options) {
    this.#versions = versions;
    this.#maxBatch = maxBatch;
    this.#beginSequence = beginSequence;
    this.#warmers = createPrefixWarmers(WARM_LIMIT_MS, now);
    this.#rotation = createSamplingRotation(now);
    this.#live = createLiveVersions({
      versions,
      warmers: this.#warmers,
      recentPrompts,
      onWork: () => void this.#loop(),
    });
    this.#arrivals = createArrivals({
      versions,
      maxWaiting,
      maxBatch,
      onArrived: (jobs) => {
        this.#waiting = [...this.#waiting, ...jobs];
        void this.#loop();
      },
    });
  }

  add(call: number, choices: readonly NewJob[]): void {
    this.#arrivals.add(call, choices, this.#waiting.length);
  }

  abort(call: number): void {
    this.#arrivals.abort(call);
    const queued = this.#waiting.filter((job) => job.call === call);
    const placed = this.#placed().filter((job) => job.call === call);
    this.#waiting = this.#waiting.filter((job) => job.call !== call);
    for (const job of placed) this.#releaseSlot(job);
    for (const job of [...queued, ...placed]) this.#giveUp(job);
  }

  serve(adapter: string, policy: PolicyVersion, signal?: AbortSignal): Promise<void> {
    return this.#live.serve(adapter, policy, signal);
  }

  counters(): SchedulerCounters {
    return {
      running: this.#placed().length,
      waiting: this.#waiting.length,
      versions: this.#versions.inMemory(),
      ...this.#totals,
    };
  }

  /** Jobs with a slot. */
  #placed(): readonly PlacedJob[] {
    return [...this.#reading, ...this.#running];
  }

  #versionOf({ version, request }: Job): LoadedVersion | undefined {
    return version ?? this.#live.of(request)?.version;
  }

  #isIdle(): boolean {
    const isBusy = this.#reading.length + this.#running.length > 0 || this.#warmers.isActive();
    return !isBusy && this.#waiting.every((job) => this.#versionOf(job) === undefined);
  }

  async #loop(): Promise<void> {
    if (this.#isLooping) return;
    this.#isLooping = true;
    while (!this.#isIdle()) {
      this.#admit();
      this.#makeRoom();
      this.#warmers.advance(this.#reading.length === 0);
      this.#readNext();
      this.#stepAll();
      await new Promise((resolve) => setImmediate(resolve)); // receive messages
    }
    this.#isLooping = false;
  }

  /**
   * Gives slots to the first waiting jobs of each version. All versions share the cache, so a job that needs
   * much room is not overtaken by later ones that need little.
   */
  #admit(): void {
    const full = new Set<LoadedVersion>();
    for (const { id } of this.#waiting) {
      const job = this.#waiting.find((other) => other.id === id)!;
      const version = this.#versionOf(job);
      if (version === undefined || full.has(version)) continue;
      if (!this.#hasSlot(version)) full.add(version);
      else if (this.#findRoom(version, job)) this.#place(job, version);
      else return;
    }
  }

  #hasSlot({ decoder }: LoadedVersion): boolean {
    return this.#placed().filter(({ version }) => version.decoder === decoder).length < this.#maxBatch;
  }

  /** A waiting answer takes precedence over a warm-up. */
  #findRoom({ decoder }: LoadedVersion, job: Job): boolean {
    const hasRoom = () => decoder.hasRoom(idsOf(job).length);
    return hasRoom() || (this.#warmers.freeSlot() && hasRoom());
  }

  /** Assigns one version to all choices of a request. */
  #settleVersion(call: number, version: LoadedVersion): void {
    for (const job of this.#waiting) if (job.call === call) this.#versions.retainAgain(version);
    this.#waiting = this.#waiting.map((job) => (job.call === call ? { ...job, version } : job));
  }

  /** Gives a waiting job a slot. */
  #place(job: Job, version: LoadedVersion): void {
    if (job.version === undefined) this.#settleVersion(job.call, version); // a pinned version is already retained
    this.#waiting = this.#waiting.filter((other) => other.id !== job.id);
    try {
      const slot = version.decoder.begin(idsOf(job), job.request.cacheSalt);
      this.#reading = [...this.#reading, { ...job, version, slot }];
    } catch (error) {
      this.#versions.release(version);
      job.listener.failed(error);
    }
  }

  #makeRoom(): void {
    const isShort = () => this.#placed().some(({ version }) => !version.decoder.canStep());
    while (isShort()) if (!this.#warmers.freeSlot()) this.#preempt();
  }

  /** Takes the slot of the youngest job. It continues from its tokens so far when there is room again. */
  #preempt(): void {
    const youngest = this.#placed().reduce((job, other) => (other.id > job.id ? other : job));
    this.#releaseSlot(youngest);
    this.#waiting = [youngest, ...this.#waiting];
    this.#totals.preemptions += 1;
  }

  /** Reads the next piece of a prompt. */
  #readNext(): void {
    const isNext = (job: Job) => !this.#reading.some(({ call, id }) => call === job.call && id < job.id);
    const job = this.#reading.find(isNext);
    if (job === undefined) return;
    const others = this.#reading.filter((other) => other !== job);
    try {
      const read = job.version.decoder.read(job.slot);
      this.#reading = read === undefined ? [...others, job] : others;
      if (read !== undefined) this.#start(job, read.cachedTokens, read.logits);
    } catch (error) {
      this.#fail(job, error);
    }
  }

  /** The prompt of the job is read: chooses its first token, or its next one after a preemption. */
  #start(job: PlacedJob, cachedTokens: number, logits: Float32Array): void {
    const isNew = job.answer === undefined;
    if (isNew) this.#countPrompt(job, cachedTokens);
    const answer = job.answer ?? { sequence: this.#beginSequence(job.request, cachedTokens), ids: [] };
    const started: RunningJob = { ...job, answer };
    this.#running = [...this.#running, started];
    if (isNew) job.listener.started(job.version.version);
    this.#rotation.timed(started, () => this.#sample(started, logits));
  }

  #countPrompt({ request, version }: PlacedJob, cachedTokens: number): void {
    const { promptIds } = request.prompt;
    this.#totals.promptTokens += promptIds.length;
    this.#totals.cachedTokens += cachedTokens;
    const live = this.#live.of(request);
    if (version === live?.version) live?.recent.add({ promptIds, cacheSalt: request.cacheSalt });
  }

  #stepAll(): void {
    const chosen = this.#rotation.next(this.#running);
    for (const version of new Set(this.#running.map((job) => job.version))) {
      this.#makeRoom(); // the previous version may have used the room
      const batch = this.#running.filter((job) => job.version === version && chosen.has(job));
      if (batch.length > 0) this.#step(version, batch);
    }
  }

  #step({ decoder }: LoadedVersion, batch: readonly RunningJob[]): void {
    let logits: readonly Float32Array[];
    try {
      logits = decoder.step(batch.map(({ slot, answer }) => ({ slot, id: answer.ids.at(-1)! })));
    } catch (error) {
      for (const job of batch) this.#fail(job, error);
      return;
    }
    this.#totals.steps += 1;
    this.#totals.stepSequences += batch.length;
    for (const [index, job] of batch.entries())
      this.#rotation.timed(job, () => this.#sample(job, logits[index]!));
  }

  #sample(job: RunningJob, logits: Float32Array): void {
    const { sequence, ids } = job.answer;
    let taken: ReturnType<Sequence['take']>;
    try {
      taken = sequence.take(logits);
    } catch (error) {
      this.#fail(job, error);
      return;
    }
    if (taken.chunk !== undefined) job.listener.chunk(taken.chunk);
    if (taken.next !== undefined) {
      ids.push(taken.next);
      return;
    }
    this.#end(job);
    job.listener.generated(sequence.result(job.version.version));
  }

  /** Ends a job without a slot. */
  #giveUp({ answer, version, listener }: Job): void {
    if (version !== undefined) this.#versions.release(version);
    if (answer === undefined) listener.failed(ServingError.STOPPING());
    else listener.generated(answer.sequence.result(version!.version));
  }

  #fail(job: PlacedJob, error: unknown): void {
    this.#end(job);
    job.listener.failed(error);
  }

  #end(job: PlacedJob): void {
    this.#releaseSlot(job);
    this.#versions.release(job.version);
  }

  #releaseSlot(job: PlacedJob): void {
    this.#reading = this.#reading.filter((other) => other.id !== job.id);
    this.#running = this.#running.filter((other) => other.id !== job.id);
    job.version.decoder.release(job.slot);
  }
}
