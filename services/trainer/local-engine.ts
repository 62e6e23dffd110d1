import type { TrainingSettings } from '../../shared/events/training-settings.ts';
import type { TrainedWeights } from '../../shared/policy/checkpoints/full-weights.ts';
import { createLora } from '../../shared/policy/model/lora.ts';
import type { Adapter, Policy } from '../../shared/policy/model/policy.ts';
import type { PromptWriter } from '../../shared/policy/text/load-prompt-writer.ts';
import { microbatchesOn } from '../../shared/policy/train/batching.ts';
import { meanPolicyKl, scoreResponses } from '../../shared/policy/train/scoring.ts';
import { tokenDistributions } from '../../shared/policy/train/token-distributions.ts';
import { lossAndGradients } from '../../shared/policy/train/training.ts';
import { TrainerError } from './errors.ts';
import type { CandidateRows, LearningEngine, LogProbs } from './learning-engine.ts';
import { type Speech, sampleAnswers } from './speech.ts';
import { separateTeacher } from './teacher.ts';
import type { TeacherModel } from './teacher-model.ts';

/**
 * An engine on this machine: a policy and its executor. Adapters are uploaded for each call and freed after it.
 */
export function localEngine(
  policy: Policy,
  writePrompt: PromptWriter,
  loadTeacher: (model: string) => Promise<TeacherModel>,
  speech?: Speech,
): LearningEngine {
  let teacher: (TeacherModel & { readonly model: string }) | undefined;
  const withAdapter = <Result>(
    file: TrainedWeights | undefined,
    use: (adapter: Adapter | undefined) => Result,
  ): Result => {
    const adapter = file && policy.loadAdapter(file);
    try {
      return use(adapter);
    } finally {
      adapter?.dispose();
    }
  };
  const loaded = (model: string): Policy => {
    if (teacher?.model !== model) throw new Error(`teacher ${model} is not loaded`);
    return teacher.policy;
  };
  return {
    writePrompt,
    contextTokens: policy.config.maxPositions,
    prepare: async (settings) => {
      refuseTooMany(settings, policy);
      const model = separateTeacher(settings);
      if (model === undefined) return { teacherDigest: undefined };
      if (teacher?.model !== model) {
        teacher?.policy.dispose();
        teacher = undefined;
        teacher = { ...(await loadTeacher(model)), model };
      }
      refuseTooMany(settings, teacher.policy);
      return { teacherDigest: teacher.digest };
    },
    scoreByTeacher: (model, sequences) => scoreResponses(loaded(model), undefined, sequences),
    distributionsByTeacher: (model, sequences, request) =>
      tokenDistributions(loaded(model), undefined, sequences, {
        ...request,
        below: policy.config.vocabularySize,
      }),
    createAdapter: ({ training, ...settings }) =>
      training === 'full' ? policy.copyWeights() : createLora(policy.config, settings),
    parts: (sequences, tokens) =>
      microbatchesOn(policy.executor, sequences, tokens).map(({ members }) => members),
    score: (file, sequences) => withAdapter(file, (adapter) => scoreResponses(policy, adapter, sequences)),
    distributions: (file, sequences, request) =>
      withAdapter(file, (adapter) => tokenDistributions(policy, adapter, sequences, request)),
    gradients: (file, sequences, byLogProbs, candidates) =>
      withAdapter(file, (adapter) => {
        const loss = (logProbs: LogProbs, made: CandidateRows) => {
          const { sampled, candidates: byCandidates = [] } = byLogProbs(logProbs, made);
          // The step sums its loss over the parts itself.
          return { loss: 0, metrics: {}, gradient: sampled, candidateGradient: byCandidates };
        };
        return lossAndGradients(policy, adapter!, sequences, { loss, candidates }).gradients;
      }),
    speech: speech && {
      ...speech,
      sample: (file, request) =>
        withAdapter(file, (adapter) => sampleAnswers(policy, adapter, speech, request)),
    },
    meanKl: (candidate, parent, sequences) =>
      withAdapter(candidate, (b) => withAdapter(parent, (a) => meanPolicyKl(policy, a, b, sequences))),
  };
}

function refuseTooMany(
  { method, distillation, topK }: Pick<TrainingSettings, 'method' | 'distillation' | 'topK'>,
  { config: { vocabularySize } }: Policy,
): void {
  if (method !== 'binary' && distillation !== 'sampled' && topK > vocabularySize)
    throw TrainerError.TOP_K_VOCABULARY({ topK, vocabulary: vocabularySize });
}
