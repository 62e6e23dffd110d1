import { setPriority } from 'node:os';
import { parentPort, workerData } from 'node:worker_threads';
import { openBackend } from '../../shared/policy/backend.ts';
import { openCheckpoint } from '../../shared/policy/checkpoint.ts';
import { loadPolicy } from '../../shared/policy/policy.ts';
import { runtimeFingerprint } from './fingerprint.ts';
import { localEngine } from './local-engine.ts';
import { step } from './step.ts';
import type { StepRequest, WorkerMessage, WorkerSettings } from './step-protocol.ts';

/** The thread that computes. The model stays loaded between steps; everything else comes with the request. */

const settings = workerData as WorkerSettings;
const port = parentPort!;
const post = (message: WorkerMessage) => port.postMessage(message);

// Linux: of this thread and those that the backend starts from it, while the thread that answers health
// checks keeps its own.
if (settings.niceness > 0 && process.platform === 'linux') setPriority(settings.niceness);

const executor = await openBackend(settings.backend, { threads: settings.threads });
const policy = await loadPolicy(await openCheckpoint(settings.modelFolder), executor);
const engine = localEngine(policy);
post({
  kind: 'opened',
  report: executor.report,
  fingerprint: runtimeFingerprint(executor),
});

port.on('message', (request: StepRequest) => {
  try {
    const result = step(engine, request.input, (progress) =>
      post({ kind: 'progress', id: request.id, progress }),
    );
    post({ kind: 'result', id: request.id, result, tensors: executor.tensorCount() });
  } catch (error) {
    post({ kind: 'error', id: request.id, error: error instanceof Error ? error : new Error(String(error)) });
  }
});
