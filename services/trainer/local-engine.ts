import { planMicrobatches } from '../../shared/policy/batching.ts';
import type { TrainedWeights } from '../../shared/policy/full-weights.ts';
import type { PromptWriter } from '../../shared/policy/load-prompt-writer.ts';
import { createLora } from '../../shared/policy/lora.ts';
import type { Adapter, Policy } from '../../shared/policy/policy.ts';
import { meanPolicyKl, scoreResponses } from '../../shared/policy/scoring.ts';
import { lossAndGradients } from '../../shared/policy/training.ts';
import type { LearningEngine } from './learning-engine.ts';
import { ownTeacher } from './own-teacher.ts';
import type { TeacherModel } from './teacher-model.ts';

/**
 * The engine on this machine: a policy and its executor. Adapters are uploaded for a call and freed after it.
 */
export function localEngine(
  policy: Policy,
  writePrompt: PromptWriter,
  loadTeacher: (model: string) => Promise<TeacherModel>,
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
  return {
    writePrompt,
    contextTokens: policy.config.maxPositions,
    prepare: async (settings) => {
      const model = ownTeacher(settings);
      if (model === undefined) return { teacherDigest: undefined };
      if (teacher?.model !== model) {
        teacher?.policy.dispose();
        teacher = undefined;
        teacher = { ...(await loadTeacher(model)), model };
      }
      return { teacherDigest: teacher.digest };
    },
    scoreByTeacher: (model, sequences) => {
      if (teacher?.model !== model) throw new Error(`the teacher ${model} is not loaded`);
      return scoreResponses(teacher.policy, undefined, sequences);
    },
    createAdapter: ({ training, ...settings }) =>
      training === 'full' ? policy.copyWeights() : createLora(policy.config, settings),
    parts: (sequences, tokens) => planMicrobatches(sequences, tokens).map(({ members }) => members),
    score: (file, sequences) => withAdapter(file, (adapter) => scoreResponses(policy, adapter, sequences)),
    gradients: (file, sequences, byLogProbs) =>
      withAdapter(file, (adapter) => {
        const { gradients } = lossAndGradients(policy, adapter!, sequences, (logProbs) => ({
          loss: 0, // the step sums it up itself, over its parts
          metrics: {},
          gradient: byLogProbs(logProbs),
        }));
        return gradients;
      }),
    meanKl: (candidate, parent, sequences) =>
      withAdapter(candidate, (b) => withAdapter(parent, (a) => meanPolicyKl(policy, a, b, sequences))),
  };
}
