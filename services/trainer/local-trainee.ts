import type { TrainedWeights } from '../../shared/policy/checkpoints/full-weights.ts';
import type { LocalOptimizer } from '../../shared/policy/checkpoints/state.ts';
import { createAdamW, emptyAdamWState, gradientNorm } from '../../shared/policy/train/adamw.ts';
import { addInto } from '../../shared/policy/train/training.ts';
import { gate } from './gate.ts';
import type { LearningEngine } from './learning-engine.ts';
import { underRules } from './own-requests.ts';
import { notFinite } from './step-metrics.ts';
import type { Gradients, ReadPolicy, StepStart, Trainee, TrainingEngine } from './trainee.ts';

/** Trains with an engine in this process: the trainee holds the weights and moments, the engine computes. */
export const localTraining = (engine: LearningEngine): TrainingEngine => ({
  open: (start) => openTrainee(engine, start),
});

function openTrainee(model: LearningEngine, { parent, settings, seed, ownsParent }: StepStart): Trainee {
  const engine = underRules(model, settings.rules);
  const from = parent?.adapter ?? engine.createAdapter({ ...settings, seed });
  const moments = momentsOf(parent);
  let trained: { readonly adapter: TrainedWeights; readonly optimizer: MutableOptimizer } | undefined;
  // Weights are copied when the first step changes them.
  const owned = () => {
    trained ??= { adapter: copyAdapter(from), optimizer: optimizerFrom(moments, ownsParent) };
    return trained;
  };
  let gradients: Gradients = new Map();
  let candidate: TrainedWeights | undefined;
  const weightsOf = (policy: ReadPolicy) => (policy === 'base' ? undefined : from);
  return {
    writePrompt: engine.writePrompt,
    contextTokens: engine.contextTokens,
    parts: engine.parts,
    score: (policy, sequences, anchor = 0) =>
      anchor === 0
        ? engine.score(weightsOf(policy), sequences)
        : engine
            .distributions(weightsOf(policy), sequences, { count: 1, anchor })
            .map(({ sampled }) => sampled),
    distributions: (policy, sequences, request) =>
      engine.distributions(weightsOf(policy), sequences, request),
    scoreByTeacher: engine.scoreByTeacher,
    distributionsByTeacher: engine.distributionsByTeacher,
    backward: (sequences, byLogProbs, candidates) => {
      addInto(gradients, engine.gradients(trained?.adapter ?? from, sequences, byLogProbs, candidates));
    },
    gradientNorm: () => gradientNorm(gradients),
    optimizerSteps: () => (trained?.optimizer ?? moments).step,
    apply: (adam) => {
      const { adapter, optimizer } = owned();
      const parameters = new Map([...adapter.tensors].map(([name, { values }]) => [name, values]));
      const applied = createAdamW(adam).step(parameters, gradients, optimizer);
      gradients = new Map();
      return applied;
    },
    gate: ({ sequences, earlier }, bounds) => {
      const to = owned().adapter;
      const broken = [...to.tensors].find(([, { values }]) => !allFinite(values));
      if (broken !== undefined) return notFinite(`${broken[0]} has a value that is not finite`);
      const gated = gate(engine, { parent: parent?.adapter, from, to, sequences, earlier }, bounds);
      candidate = gated.adapter;
      return gated;
    },
    finish: () => ({ adapter: candidate ?? owned().adapter, optimizer: owned().optimizer }),
    close: () => {},
    here: {
      engine,
      exchangeGradients: (others) => {
        const before = gradients;
        gradients = others;
        return before;
      },
    },
  };
}

/** A parent that was trained on a server left its moments there: its first step here begins with none. */
const momentsOf = (parent: StepStart['parent']): LocalOptimizer =>
  parent === undefined || parent.optimizer.kind === 'remote' ? emptyAdamWState() : parent.optimizer;

/** A loop, because `every` takes a second for 135 million weights. */
function allFinite(values: Float32Array): boolean {
  for (let index = 0; index < values.length; index++) if (!Number.isFinite(values[index])) return false;
  return true;
}

const copyAdapter = (trained: TrainedWeights): TrainedWeights => ({
  ...trained,
  tensors: new Map(
    [...trained.tensors].map(([name, { shape, values }]) => [name, { shape, values: values.slice() }]),
  ),
});

type MutableOptimizer = ReturnType<typeof optimizerFrom>;

const optimizerFrom = ({ step: taken, first, second }: LocalOptimizer, owned: boolean) => {
  const copy = (moments: LocalOptimizer['first']) =>
    new Map([...moments].map(([name, values]) => [name, owned ? values : values.slice()]));
  return { step: taken, first: copy(first), second: copy(second) };
};
