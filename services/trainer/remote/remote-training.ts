import type { SampleReady } from '../../../shared/events/sample-ready.ts';
import type { AdamWSettings } from '../../../shared/policy/train/adamw.ts';
import type { PolicySequence } from '../../../shared/policy/train/batching.ts';
import type { CandidatesPerSequence } from '../../../shared/policy/train/candidates-per-sequence.ts';
import { isNotFinite } from '../../../shared/tinker/errors.ts';
import type {
  RemoteModel,
  RemoteSession,
  ServerCapabilities,
  ServerSequence,
  TrainingServer,
} from '../../../shared/tinker/training-server.ts';
import { TrainerError } from '../errors.ts';
import type { CandidateRows, LearningEngine, LogProbGradient, LogProbs } from '../learning-engine.ts';
import type { NoCandidate } from '../step.ts';
import { notFinite } from '../step-metrics.ts';
import type { LeftOut, StepStart, TrainedNumbers, Trainee, TrainingEngine } from '../trainee.ts';
import { openModel, shapeOf } from './open-model.ts';
import { gateBySamples } from './remote-gate.ts';
import { mixed, remoteDistributions, remotePolicy, restOf, toServer } from './remote-policy.ts';
import { type ExpectedAdapter, trainedAdapter } from './trained-adapter.ts';

export type RemoteOptions = {
  readonly server: TrainingServer;
  readonly url: string;
  /** shapes of an adapter's tensors for this model, by name */
  readonly shapesOf: ExpectedAdapter['shapesOf'];
  readonly writePrompt: LearningEngine['writePrompt'];
  readonly contextTokens: number;
  /** recognises a saved state, see probe.ts */
  readonly probe: ServerSequence;
  /** ends every request */
  readonly signal: AbortSignal;
  /** stored with the session, for the operator of the server */
  readonly about: Readonly<Record<string, string>>;
  /** called with the path of each saved state, before or after it is saved, until the checkpoint is committed */
  readonly onState: (path: string) => Promise<void>;
};

/**
 * Trains on a server of the Tinker API. Each step has a session of its own and a fresh model, whose first request loads
 * the parent's state with its optimizer. A model is never continued by another attempt.
 *
 * @throws TinkerError, PARENT_STATE
 */
export const remoteTraining = (options: RemoteOptions): TrainingEngine => ({
  refusal: (sample) => sampleRefusal(sample, options.contextTokens),
  open: async (start) => {
    const session = await options.server.openSession(options.about, options.signal);
    try {
      return await openTrainee(options, start, session);
    } catch (error) {
      await session.close();
      throw error;
    }
  },
});

/**
 * A server scores the model's own distribution at temperature 1, and nothing else can be derived from its answers. It
 * refuses a call with a longer sequence, which would cost the whole batch.
 */
function sampleRefusal(
  { tokens }: SampleReady['data'],
  contextTokens: number,
): LeftOut['reason'] | undefined {
  if (tokens.effectiveTemperature !== 1) return 'other-temperature';
  if (tokens.allowed !== undefined) return 'restricted-tokens';
  return tokens.promptIds.length + tokens.responseIds.length > contextTokens ? 'too-long' : undefined;
}

/** A model that is being trained. */
type Trained = {
  model: RemoteModel;
  /** of the optimizer, over all versions */
  steps: number;
  /** gradients were added since the last optimizer step */
  isPending: boolean;
  /** a gradient was not finite, so it was not sent */
  isBroken: boolean;
};

async function openTrainee(
  options: RemoteOptions,
  start: StepStart,
  session: RemoteSession,
): Promise<Trainee> {
  const trained = await openTrained(session, start, options.probe);
  const readers = readersOf(session, start, trained);
  const { own, base, models } = readers;
  return {
    writePrompt: options.writePrompt,
    contextTokens: options.contextTokens,
    // The client splits long requests itself.
    parts: (sequences) => (sequences.length === 0 ? [] : [sequences.map((_, index) => index)]),
    score: async (policy, sequences, anchor = 0) => {
      const read = await (policy === 'base' ? base : own).score(sequences);
      if (anchor === 0) return read;
      const under = await base.score(sequences);
      return read.map((row, n) => mixed(row, under[n]!, anchor));
    },
    distributions: async (policy, sequences, request) => {
      if (sequences.length === 0) return [];
      const isMixed = (request.anchor ?? 0) > 0;
      const mixedWith = isMixed ? await models.base() : undefined;
      return remoteDistributions({ own: await models[policy](), base: mixedWith }, sequences, request);
    },
    scoreByTeacher: noTeacher,
    distributionsByTeacher: noTeacher,
    backward: async (sequences, byLogProbs, candidates) => {
      const { current, rows } = await forward(trained.model, sequences, candidates);
      if (trained.steps === stepsOf(start)) own.remember(sequences, current);
      await addGradient(trained, byLogProbs(current, rows), { sequences, current, candidates });
    },
    gradientNorm: () => (trained.isBroken ? Number.NaN : trained.isPending ? undefined : 0),
    optimizerSteps: () => trained.steps,
    apply: (adam) => apply(trained, adam, options.server.capabilities),
    gate: async ({ sequences }, settings) => {
      const before = await own.score(sequences);
      const candidate = await trained.model.forward(sequences.map(toServer));
      const needsBase = start.parent !== undefined && settings.gateBaseKl !== undefined;
      const under = needsBase ? await base.score(sequences) : undefined;
      return gateBySamples({ start: before, candidate, base: under }, settings);
    },
    finish: () => finish(options, start, trained),
    restart: async () => {
      await trained.model.unload();
      Object.assign(trained, await openTrained(session, start, options.probe));
    },
    close: () => session.close(),
  };
}

const openTrained = async (
  session: RemoteSession,
  start: StepStart,
  probe: ServerSequence,
): Promise<Trained> => ({
  model: await openModel(session, start, probe),
  steps: stepsOf(start),
  isPending: false,
  isBroken: false,
});

/** The base, and the policy that the step starts from: the trained model, until its first optimizer step. */
function readersOf(session: RemoteSession, start: StepStart, trained: Trained) {
  const startModel = async () => {
    if (trained.steps !== stepsOf(start))
      throw new Error('an answer was not scored before the first optimizer step');
    return trained.model;
  };
  let opened: Promise<RemoteModel> | undefined;
  const openBase = () => {
    // B is 0: a fresh adapter has no effect.
    opened ??= session.createModel({ ...shapeOf(start), seed: start.seed });
    return opened;
  };
  const own = remotePolicy(startModel);
  if (start.parent === undefined) return { own, base: own, models: { start: startModel, base: startModel } };
  return { own, base: remotePolicy(openBase), models: { start: startModel, base: openBase } };
}

/** Adds the gradient of the sequences that have a slope. */
async function addGradient(
  trained: Trained,
  slopes: LogProbGradient,
  {
    sequences,
    current,
    candidates,
  }: {
    readonly sequences: readonly PolicySequence[];
    readonly current: LogProbs;
    readonly candidates: CandidatesPerSequence | undefined;
  },
): Promise<void> {
  const kept = sequences.map((_, n) => n).filter((n) => hasSlope(slopes, n));
  if (!kept.every((n) => isFiniteAt(slopes, n))) trained.isBroken = true;
  if (trained.isBroken || kept.length === 0) return;
  trained.isPending = true;
  const of = <Row>(list: readonly Row[]) => kept.map((n) => list[n]!);
  const beside = candidates &&
    slopes.candidates && {
      count: candidates.count,
      ids: of(candidates.ids),
      slopes: of(slopes.candidates),
    };
  await trained.model.addGradient(
    of(sequences).map(toServer),
    { sampled: of(slopes.sampled), ...(beside && { candidates: beside }) },
    { current: of(current), sequencesUntilStep: kept.length },
  );
}

async function apply(
  trained: Trained,
  {
    learningRate,
    beta1 = 0.9,
    beta2 = 0.999,
    epsilon = 1e-8,
    weightDecay = 0,
    maxGradientNorm,
  }: AdamWSettings,
  { gradientClip: clips, largestBeta = 1 }: ServerCapabilities,
): Promise<{ readonly gradientNorm: number | undefined }> {
  trained.steps += 1;
  trained.isPending = false;
  const gradientClip = clips ? maxGradientNorm : undefined;
  // An open batch may be older than the refusal of larger ones.
  const betas = { beta1: Math.min(beta1, largestBeta), beta2: Math.min(beta2, largestBeta) };
  try {
    const adam = { learningRate, ...betas, epsilon, weightDecay, gradientClip };
    return await trained.model.optimizerStep(adam);
  } catch (error) {
    if (isNotFinite(error)) return { gradientNorm: Number.NaN };
    throw error;
  }
}

/** Saves the state, which stays on the server, and downloads the adapter. */
async function finish(
  { server, probe, url, shapesOf, onState }: RemoteOptions,
  start: StepStart,
  { model, steps }: Trained,
): Promise<TrainedNumbers | NoCandidate> {
  const { label } = start;
  const [logProbs] = await model.forward([probe]);
  // Noted before they are saved, too: a killed attempt leaves no unknown state.
  for (const folder of ['weights', 'sampler_weights', 'external_weights'])
    await onState(`tinker://${model.id}/${folder}/${label}`);
  const { path } = await model.saveState(label);
  await onState(path);
  const adapter = await trainedAdapter(await model.downloadAdapter(label), { shapesOf, ...shapeOf(start) });
  if (typeof adapter === 'string') {
    if (adapter.includes('not finite')) return notFinite(adapter);
    throw TrainerError.SERVER_ADAPTER({ detail: adapter });
  }
  const { promptIds, responseIds } = probe;
  const known = { promptIds: [...promptIds], responseIds: [...responseIds], logProbs: [...logProbs!] };
  const { dialect } = server;
  return { adapter, optimizer: { kind: 'remote', step: steps, dialect, url, path, probe: known } };
}

const stepsOf = ({ parent }: StepStart): number => parent?.optimizer.step ?? 0;

async function forward(
  model: RemoteModel,
  sequences: readonly PolicySequence[],
  candidates: CandidatesPerSequence | undefined,
): Promise<{ readonly current: LogProbs; readonly rows: CandidateRows }> {
  const asked = sequences.map(toServer);
  if (candidates === undefined)
    return { current: await model.forward(asked), rows: asked.map(() => undefined) };
  const { count, ids, rest } = candidates;
  const scored = await model.forwardCandidates(asked, { count, ids });
  const rows = scored.candidates.map((logProbs) => {
    if (logProbs === undefined) return undefined;
    const length = rest ? logProbs.length / count : 0;
    const rests = Float32Array.from({ length }, (_, t) =>
      restOf(logProbs.subarray(t * count, (t + 1) * count)),
    );
    return { logProbs, rest: rests };
  });
  return { current: scored.sampled, rows };
}

const rowsOf = ({ sampled, candidates }: LogProbGradient, n: number): readonly ArrayLike<number>[] => {
  const beside = candidates?.[n];
  return beside === undefined ? [sampled[n]!] : [sampled[n]!, beside];
};
const hasSlope = (slopes: LogProbGradient, n: number): boolean =>
  rowsOf(slopes, n).some((row) => Array.prototype.some.call(row, (slope: number) => slope !== 0));
const isFiniteAt = (slopes: LogProbGradient, n: number): boolean =>
  rowsOf(slopes, n).every((row) => Array.prototype.every.call(row, Number.isFinite));

/** Refused before a step, see engine-refusal.ts. */
const noTeacher = (teacher: string): never => {
  throw new Error(`the teacher ${teacher} is not on the training server`);
};
