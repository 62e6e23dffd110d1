import { setPriority } from 'node:os';
import { workerData } from 'node:worker_threads';
import { openCheckpoint } from '../../shared/policy/checkpoints/checkpoint.ts';
import { warmUpTraining } from '../../shared/policy/decode/warm-up.ts';
import { openBackend } from '../../shared/policy/executors/backend.ts';
import { loadPolicy } from '../../shared/policy/model/policy.ts';
import { loadPromptWriter } from '../../shared/policy/text/load-prompt-writer.ts';
import { answerCalls, type OneCall } from '../../shared/runtime/answer-calls.ts';
import { runtimeFingerprint } from './fingerprint.ts';
import { localEngine } from './local-engine.ts';
import { localTraining } from './local-trainee.ts';
import { loadSpeech } from './speech.ts';
import { type StepInput, step } from './step.ts';
import {
  buffersOf,
  type Opened,
  type StepCalls,
  type Stepped,
  type WorkerSettings,
} from './step-protocol.ts';
import { loadTeacherModel } from './teacher-model.ts';

/** The thread that computes. The model stays loaded between steps; everything else comes with the request. */

const settings = workerData as WorkerSettings;

// Linux: of this thread and those that the backend starts from it, while the thread that answers health
// checks keeps its own.
if (settings.niceness > 0 && process.platform === 'linux') setPriority(settings.niceness);

const executor = await openBackend(settings.backend, { threads: settings.threads });
const source = await openCheckpoint(settings.modelFolder);
const policy = await loadPolicy(source, executor);
const engine = localEngine(
  policy,
  await loadPromptWriter(settings.modelFolder),
  (model) => loadTeacherModel(model, settings.modelFolder, executor),
  await loadSpeech(settings.modelFolder, source),
);
const training = localTraining(engine);
const fingerprint = runtimeFingerprint(executor);
const report = `${executor.report}; ${warmUpTraining(policy, settings.training)}`;

async function answer(input: StepInput, { tell, handOver }: OneCall): Promise<Stepped> {
  const { teacherDigest } = await engine.prepare(input.batch.settings);
  const result = await step(training, { ...input, ownsParent: true }, tell);
  if (result.kind === 'candidate') handOver(buffersOf(result));
  return {
    result,
    fingerprint: teacherDigest === undefined ? fingerprint : `${fingerprint}; teacher ${teacherDigest}`,
    tensors: executor.tensorCount(),
  };
}

const asError = (error: unknown): Error => (error instanceof Error ? error : new Error(String(error)));
answerCalls<StepCalls>({ step: answer }, asError, { report, fingerprint } satisfies Opened);
