import { join } from 'node:path';
import type { LearningEngine } from '../../../services/trainer/learning-engine.ts';
import { remoteTraining } from '../../../services/trainer/remote/remote-training.ts';
import { type Candidate, step } from '../../../services/trainer/step.ts';
import { batchData, sampleData } from '../../../services/trainer/testing/facts.ts';
import { writeAdapter } from '../../../shared/policy/checkpoints/adapter-files.ts';
import { loraShapes } from '../../../shared/policy/model/lora.ts';
import type { ModelConfig } from '../../../shared/policy/model/model-config.ts';
import { hintMarker } from '../../../shared/policy/text/hint.ts';
import { serverTrainingSettings } from '../../../shared/policy/train/training-defaults.ts';
import type { ServerSequence, TrainingServer } from '../../../shared/tinker/training-server.ts';

/** Steps from the base, each from the version before, with the same batch. */
export const STEPS_OF_A_RUN = 4;
/** Multiples of the default learning rate. */
const factors = [1, 3, 10] as const;

/** Adapters that a run of steps wrote: after the first step, and after the last. */
export type StepRun = {
  /** of all steps but the first, which compiles */
  readonly stepsMs: readonly number[];
  /** as at alpha 16; a server with another alpha gets the rate that moves the weights as far */
  readonly learningRate: number;
  readonly first: string;
  readonly last: string;
};

export type StepTask = {
  readonly server: TrainingServer;
  readonly url: string;
  /** whose default settings count, for example qwen3-0.6b */
  readonly name: string;
  readonly config: ModelConfig;
  /** the batch: answers, of which the first half was criticised and has a hint */
  readonly answers: readonly ServerSequence[];
  /** two tokens that stand for the hint */
  readonly hint: readonly number[];
  /** where the adapters are written */
  readonly folder: string;
  readonly tell: (line: string) => void;
};

/** Whole steps of the trainer with the default settings, without warm-up and with an open gate. */
export async function takeStepRuns(task: StepTask): Promise<readonly StepRun[]> {
  const { server, name } = task;
  const defaults = serverTrainingSettings(name, server.capabilities);
  const sampled = await baseLogProbs(task);
  const runs: StepRun[] = [];
  for (const factor of factors) {
    const learningRate = factor * defaults.learningRate;
    const { gateBaseKl: _, ...settings } = { ...defaults, learningRate, warmUpSteps: 0, gateMeanKl: 100 };
    const written: string[] = [];
    const stepsMs: number[] = [];
    let parent: Candidate | undefined;
    for (let n = 1; n <= STEPS_OF_A_RUN; n++) {
      task.tell(`step ${n} of ${STEPS_OF_A_RUN} with ${factor} x the default rate`);
      const samples = task.answers.map(({ responseIds }, index) =>
        sampleOf(task, index, responseIds, sampled),
      );
      const batch = { ...batchData(n, samples), settings };
      const begun = performance.now();
      const made = await step(trainingOf(task), { parent, batch, samples, label: `${factor}-${n}` });
      if (made.kind !== 'candidate' || made.adapter.kind !== 'lora')
        throw new Error(`the step made no adapter: ${JSON.stringify(made)}`);
      if (n > 1) stepsMs.push(performance.now() - begun);
      parent = made;
      written.push(join(task.folder, `${factor}-${n}`));
      await writeAdapter(written.at(-1)!, made.adapter);
    }
    const rate = (learningRate * defaults.alpha) / 16;
    runs.push({ stepsMs, learningRate: rate, first: written[0]!, last: written.at(-1)! });
  }
  return runs;
}

const isCriticised = (task: StepTask, index: number): boolean => index < task.answers.length / 2;

function sampleOf(
  task: StepTask,
  index: number,
  responseIds: readonly number[],
  sampled: readonly ArrayLike<number>[],
) {
  const { promptIds } = task.answers[index]!;
  const bad = isCriticised(task, index);
  return sampleData(`sample ${index}`, {
    verdict: bad ? -1 : 1,
    hints: bad ? ['as the hint says'] : [],
    messages: [{ role: 'user', content: String(index) }],
    tokens: {
      promptIds: [...promptIds],
      responseIds: [...responseIds],
      logProbs: Array.from(sampled[index]!),
    },
  });
}

/** The prompt of a sample, by its number; the hint is two tokens more. */
const writePromptOf =
  ({ answers, hint }: StepTask): LearningEngine['writePrompt'] =>
  ({ messages }) => {
    const text = JSON.stringify(messages);
    const index = Number(/"content":"[^"\d]*(\d+)/.exec(text)?.[1]);
    return text.includes(hintMarker)
      ? [...answers[index]!.promptIds, ...hint]
      : [...answers[index]!.promptIds];
  };

const trainingOf = (task: StepTask) =>
  remoteTraining({
    server: task.server,
    url: task.url,
    shapesOf: (rank) => loraShapes(task.config, rank),
    writePrompt: writePromptOf(task),
    contextTokens: 4096,
    probe: { promptIds: task.answers[0]!.promptIds, responseIds: task.answers[0]!.responseIds.slice(0, 24) },
    signal: new AbortController().signal,
    about: { bench: 'gpu' },
    onState: async () => {},
  });

async function baseLogProbs({ server, answers }: StepTask): Promise<readonly Float32Array[]> {
  const session = await server.openSession({ bench: 'gpu' }, new AbortController().signal);
  try {
    const model = await session.createModel({ rank: 16, seed: 3 });
    return await model.forward(answers);
  } finally {
    await session.close();
  }
}
