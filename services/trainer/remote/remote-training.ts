import type { SampleReady } from '../../../shared/events/sample-ready.ts';
import type { RemoteOptimizer } from '../../../shared/policy/checkpoints/state.ts';
import type { ModelConfig } from '../../../shared/policy/model/model-config.ts';
import type { PolicySequence } from '../../../shared/policy/train/batching.ts';
import type { CandidatesPerSequence } from '../../../shared/policy/train/candidates-per-sequence.ts';
import { isServiceError } from '../../../shared/runtime/errors.ts';
import type {
  RemoteModel,
  RemoteSession,
  ServerSequence,
  TrainingServer,
} from '../../../shared/tinker/training-server.ts';
import { TrainerError } from '../errors.ts';
import type { CandidateRows, LearningEngine, LogProbGradient, LogProbs } from '../learning-engine.ts';
import { notFinite } from '../step-metrics.ts';
import type { StepStart, Trainee, TrainingEngine } from '../trainee.ts';
import { probeMismatch } from './probe.ts';
import { gateBySamples } from './remote-gate.ts';
import { mixed, remoteDistributions, remotePolicy, restOf, toServer } from './remote-policy.ts';
import { trainedAdapter } from './trained-adapter.ts';

export type RemoteOptions = {
  readonly server: TrainingServer;
  readonly url: string;
  /** shape of the model, which its adapters must fit */
  readonly config: ModelConfig;
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
  refusal: sampleRefusal,
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

/** A server scores the model's own distribution at temperature 1, and nothing else can be derived from its answers. */
export function sampleRefusal({ tokens }: SampleReady['data']): string | undefined {
  if (tokens.effectiveTemperature !== 1)
    return `it was sampled at temperature ${tokens.effectiveTemperature}; a training server scores at temperature 1`;
  return tokens.allowed === undefined
    ? undefined
    : 'its format restricted the tokens; a training server scores without a restriction';
}

async function openTrainee(
  options: RemoteOptions,
  start: StepStart,
  session: RemoteSession,
): Promise<Trainee> {
  const { server, probe } = options;
  const shape = shapeOf(start);
  let model = await openModel(session, start);
  let [steps, isPending, isBroken] = [stepsOf(start), false, false];
  const isFresh = () => steps === stepsOf(start);
  const startModel = async () => {
    if (!isFresh()) throw new Error('the answer was not scored before the first optimizer step');
    return model;
  };
  let baseModel: Promise<RemoteModel> | undefined;
  const openBase = () => {
    // B is 0: a fresh adapter has no effect.
    baseModel ??= session.createModel({ ...shape, seed: start.seed });
    return baseModel;
  };
  const own = remotePolicy(startModel);
  const base = start.parent === undefined ? own : remotePolicy(openBase);
  const modelOf = (policy: 'base' | 'start') =>
    policy === 'start' || start.parent === undefined ? startModel() : openBase();
  let trained: LogProbs | undefined;

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
      const readers = { own: await modelOf(policy), base: isMixed ? await openBase() : undefined };
      return remoteDistributions(readers, sequences, request);
    },
    scoreByTeacher: noTeacher,
    distributionsByTeacher: noTeacher,
    backward: async (sequences, byLogProbs, candidates) => {
      const { current, rows } = await forward(model, sequences, candidates);
      if (isFresh()) own.remember(sequences, current);
      const slopes = byLogProbs(current, rows);
      const kept = sequences.map((_, n) => n).filter((n) => hasSlope(slopes, n));
      if (!kept.every((n) => isFiniteAt(slopes, n))) isBroken = true;
      if (isBroken || kept.length === 0) return;
      isPending = true;
      const of = <Row>(list: readonly Row[]) => kept.map((n) => list[n]!);
      await model.addGradient(
        of(sequences).map(toServer),
        {
          sampled: of(slopes.sampled),
          ...(candidates &&
            slopes.candidates && {
              candidates: {
                count: candidates.count,
                ids: of(candidates.ids),
                slopes: of(slopes.candidates),
              },
            }),
        },
        { current: of(current), sequencesUntilStep: kept.length },
      );
    },
    gradientNorm: () => (isBroken ? Number.NaN : isPending ? undefined : 0),
    optimizerSteps: () => steps,
    apply: async ({ learningRate, beta1, beta2, epsilon, weightDecay, maxGradientNorm }) => {
      const gradientClip = server.capabilities.gradientClip ? maxGradientNorm : undefined;
      steps += 1;
      isPending = false;
      try {
        return await model.optimizerStep({
          learningRate,
          beta1: beta1 ?? 0.9,
          beta2: beta2 ?? 0.999,
          epsilon: epsilon ?? 1e-8,
          weightDecay: weightDecay ?? 0,
          gradientClip,
        });
      } catch (error) {
        if (isServiceError(error) && error.code === 'not_finite') return { gradientNorm: Number.NaN };
        throw error;
      }
    },
    gate: async ({ sequences }, settings) => {
      const before = await own.score(sequences);
      trained = await model.forward(sequences.map(toServer));
      const needsBase = start.parent !== undefined && settings.gateBaseKl !== undefined;
      const under = needsBase ? await base.score(sequences) : undefined;
      return gateBySamples({ start: before, candidate: trained, base: under }, settings);
    },
    finish: async () => {
      const [logProbs] = await model.forward([probe]);
      const { label } = start;
      // Noted before it is saved, too: a killed attempt leaves no unknown state.
      await options.onState(`tinker://${model.id}/weights/${label}`);
      await options.onState(`tinker://${model.id}/sampler_weights/${label}`);
      const { path } = await model.saveState(label);
      await options.onState(path);
      const adapter = await trainedAdapter(await model.downloadAdapter(label), {
        config: options.config,
        ...shape,
      });
      if (typeof adapter === 'string') {
        if (adapter.includes('not finite')) return notFinite(adapter);
        throw TrainerError.SERVER_ADAPTER({ detail: adapter });
      }
      const optimizer: RemoteOptimizer = {
        kind: 'remote',
        step: steps,
        dialect: server.dialect,
        url: options.url,
        path,
        probe: { ...mutable(probe), logProbs: [...logProbs!] },
      };
      return { adapter, optimizer };
    },
    restart: async () => {
      await model.unload();
      model = await openModel(session, start);
      [steps, isPending, isBroken] = [stepsOf(start), false, false];
    },
    close: () => session.close(),
  };
}

const mutable = ({ promptIds, responseIds }: ServerSequence) => ({
  promptIds: [...promptIds],
  responseIds: [...responseIds],
});

const stepsOf = ({ parent }: StepStart): number => parent?.optimizer.step ?? 0;

/** A version keeps the rank and alpha of its parent. */
function shapeOf({ parent, settings: { rank, alpha } }: StepStart) {
  if (parent === undefined) return { rank, alpha };
  if (parent.adapter.kind !== 'lora') throw new Error('a training server has no full weights');
  const { config } = parent.adapter;
  return { rank: config.rank, alpha: config.alpha };
}

/** A fresh model at the start of the step. @throws PARENT_STATE if the server has another state under its path */
async function openModel(session: RemoteSession, start: StepStart): Promise<RemoteModel> {
  const model = await session.createModel({ ...shapeOf(start), seed: start.seed });
  const optimizer = start.parent?.optimizer;
  if (optimizer === undefined) return model;
  if (optimizer.kind !== 'remote')
    throw TrainerError.PARENT_STATE({ path: '(none)', detail: 'the parent was trained on this machine' });
  await model.loadState(optimizer.path);
  const detail = await probeMismatch(model, optimizer.probe);
  if (detail !== undefined) throw TrainerError.PARENT_STATE({ path: optimizer.path, detail });
  return model;
}

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
