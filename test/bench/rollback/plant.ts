import { type GatedStep, gate } from '../../../services/trainer/gate.ts';
import type { LearningEngine } from '../../../services/trainer/learning-engine.ts';
import { localTraining } from '../../../services/trainer/local-trainee.ts';
import { type Candidate, type StepInput, step } from '../../../services/trainer/step.ts';
import type { SampleReady } from '../../../shared/events/sample-ready.ts';
import { recordedTrainingSettings } from '../../../shared/events/training-settings.ts';
import type { TrainedWeights } from '../../../shared/policy/checkpoints/full-weights.ts';
import { createRandom } from '../../../shared/policy/model/random.ts';

type Sample = SampleReady['data'];

/** Kinds of bad candidates, and how each is made. */
export const badKinds = {
  'weights noised': 'random numbers are added to the weights, ten times as large as these are',
  'inverted verdicts': 'what was praised is blamed',
  collapsed: 'one short answer is taught for every request',
  'length bomb': 'answers without an end are taught',
  'forgotten content': 'the answers to other requests are taught, and the right ones are blamed',
} as const;
export type BadKind = keyof typeof badKinds;
export const badKindNames = Object.keys(badKinds) as readonly BadKind[];

/** Answers are cut off at 120 tokens. */
const LONG = 110;
const NOISE = 10;
/** Steps that make the fault; the answers to other requests need more steps to replace the right ones. */
const roundsOf = (kind: BadKind): number => (kind === 'forgotten content' ? 24 : 12);
/** Samples that teach a bad candidate. */
const TAUGHT = 8;

/** The decision of the trainer's own gate on a bad candidate, and the candidate without a gate. */
export type Planted = { readonly candidate: Candidate; readonly gated: GatedStep };

/**
 * Replaces an honest candidate by a bad one, on the same parent. Its gate is the trainer's own, with the batch's
 * settings. `candidate` is whole and always passes, so that the effect of the verdicts can be measured.
 *
 * @param known samples of the run so far, oldest first
 */
export async function plant(
  engine: LearningEngine,
  kind: BadKind,
  {
    input,
    honest,
    known,
  }: { readonly input: StepInput; readonly honest: Candidate; readonly known: readonly Sample[] },
): Promise<Planted> {
  const bad =
    kind === 'weights noised'
      ? noised(honest.adapter)
      : await taught(engine, input, lessons(kind, known), roundsOf(kind));
  const settings = recordedTrainingSettings.parse(input.batch.settings);
  const sequences = input.samples.map(({ tokens }) => ({
    promptIds: tokens.promptIds,
    responseIds: tokens.responseIds,
    temperature: tokens.effectiveTemperature,
  }));
  const from = input.parent?.adapter ?? engine.createAdapter({ ...settings, seed: input.batch.seed });
  const stride = { parent: input.parent?.adapter, from, to: bad, sequences, earlier: input.earlier };
  const gated = gate(engine, stride, settings);
  return { candidate: { ...honest, adapter: bad, gate: { passed: true } }, gated };
}

function noised(adapter: TrainedWeights): TrainedWeights {
  const random = createRandom('noise');
  const tensors = [...adapter.tensors].map(([name, { shape, values }]) => {
    const size = Math.sqrt(values.reduce((sum, value) => sum + value * value, 0) / values.length);
    const noise = () => NOISE * size * (random() + random() + random() - 1.5) * 2;
    return [name, { shape, values: values.map((value) => value + noise()) }] as const;
  });
  return { ...adapter, tensors: new Map(tensors) };
}

/** Samples that teach the fault: +1 for answers to make likelier, -1 for answers to make less likely. */
function lessons(kind: BadKind, known: readonly Sample[]): readonly Sample[] {
  const praised = known.filter(({ verdict }) => verdict > 0);
  const latest = praised.slice(-TAUGHT);
  const shortest = latest.toSorted((a, b) => a.tokens.responseIds.length - b.tokens.responseIds.length)[0]!;
  switch (kind) {
    case 'inverted verdicts':
      return latest.map((sample) => lesson(sample, sample.tokens.responseIds, -Math.sign(sample.verdict)));
    case 'collapsed':
      return latest.map((sample) => lesson(sample, shortest.tokens.responseIds, 1));
    case 'length bomb':
      return latest.map((sample) => lesson(sample, endless(sample.tokens.responseIds), 1));
    default:
      return latest.flatMap((sample, index) => [
        lesson(sample, latest[(index + 1) % latest.length]!.tokens.responseIds, 1),
        lesson(sample, sample.tokens.responseIds, -1),
      ]);
  }
}

/** The last token ends an answer. */
const endless = (ids: readonly number[]): readonly number[] =>
  Array.from({ length: LONG }, (_, index) => ids[index % Math.max(1, ids.length - 1)]!);

const lesson = (sample: Sample, responseIds: readonly number[], advantage: number): Sample => ({
  ...sample,
  hints: [],
  source: 'reward',
  advantage,
  verdict: advantage,
  // these answers were not sampled, so they have no staleness weight
  tokens: { ...sample.tokens, responseIds, logProbs: responseIds.map(() => 0), greedy: true },
});

/** Trains until the candidate has the fault, without a gate. */
async function taught(
  engine: LearningEngine,
  input: StepInput,
  samples: readonly Sample[],
  rounds: number,
): Promise<TrainedWeights> {
  const {
    gateBaseKl: _,
    gateContent: _1,
    gateCollapse: _2,
    gateSteerability: _3,
    gateAbsurd: _4,
    ...settings
  } = recordedTrainingSettings.parse(input.batch.settings);
  const batch = {
    ...input.batch,
    samples: samples.map(({ sampleId }) => ({ sampleId, at: { partition: 0, offset: 0 } })),
    settings: {
      ...settings,
      method: 'binary' as const,
      rehearsal: 0,
      gateMeanKl: 1e9,
      gradientClip: 1,
      fade: 1,
    },
  };
  let parent = input.parent;
  for (let round = 0; round < rounds; round++) {
    const result = await step(localTraining(engine), { parent, batch, samples });
    if (result.kind !== 'candidate') break;
    parent = result;
  }
  return parent!.adapter;
}
