import { setPriority } from 'node:os';
import { parentPort, workerData } from 'node:worker_threads';
import { openBackend } from '../../shared/policy/backend.ts';
import { openCheckpoint } from '../../shared/policy/checkpoint.ts';
import { loadPromptWriter } from '../../shared/policy/load-prompt-writer.ts';
import { loadPolicy } from '../../shared/policy/policy.ts';
import { warmUpTraining } from '../../shared/policy/warm-up.ts';
import { runtimeFingerprint } from './fingerprint.ts';
import { localEngine } from './local-engine.ts';
import { loadSpeech } from './speech.ts';
import { step } from './step.ts';
import { buffersOf, type StepRequest, type WorkerMessage, type WorkerSettings } from './step-protocol.ts';
import { loadTeacherModel } from './teacher-model.ts';

/** The thread that computes. The model stays loaded between steps; everything else comes with the request. */

const settings = workerData as WorkerSettings;
const port = parentPort!;
const post = (message: WorkerMessage, handed: readonly ArrayBuffer[] = []) =>
  port.postMessage(message, handed);

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
const fingerprint = runtimeFingerprint(executor);
post({
  kind: 'opened',
  report: `${executor.report}; ${warmUpTraining(policy, settings.training)}`,
  fingerprint,
});

port.on('message', (request: StepRequest) => void answer(request));

async function answer(request: StepRequest): Promise<void> {
  try {
    const { teacherDigest } = await engine.prepare(request.input.batch.settings);
    const result = step(engine, { ...request.input, ownsParent: true }, (progress) =>
      post({ kind: 'progress', id: request.id, progress }),
    );
    const told: WorkerMessage = {
      kind: 'result',
      id: request.id,
      result,
      fingerprint: teacherDigest === undefined ? fingerprint : `${fingerprint}; teacher ${teacherDigest}`,
      tensors: executor.tensorCount(),
    };
    post(told, result.kind === 'candidate' ? buffersOf(result) : []);
  } catch (error) {
    post({ kind: 'error', id: request.id, error: error instanceof Error ? error : new Error(String(error)) });
  }
}
