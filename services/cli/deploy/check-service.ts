import { isServiceError } from '../../../shared/runtime/errors.ts';
import { checkConformance } from '../../../shared/tinker/conformance.ts';
import { dialects } from '../../../shared/tinker/dialects.ts';
import { isPassing } from '../../../shared/tinker/errors.ts';
import { totalTokens } from '../../../shared/tinker/meter.ts';
import { openTrainingServer } from '../../../shared/tinker/open-training-server.ts';
import type { TrainingServer } from '../../../shared/tinker/training-server.ts';
import type { Finding } from '../doctor/checks.ts';
import { type DeployPlan, notRunLive } from './plan-deploy.ts';

/** Token ids below it exist in every model of these services. */
const PROBE_VOCABULARY = 1_000;

/**
 * Checks address, key, model and gradients, one after another; a check that fails is the last.
 *
 * @param onFinding called as each finding is made, because the service may take minutes
 */
export async function checkService(
  { target, settings, model }: DeployPlan,
  onFinding: (finding: Finding) => void,
  signal: AbortSignal,
): Promise<boolean> {
  const server = openTrainingServer({
    url: settings.trainingUrl,
    apiKey: settings.apiKey,
    dialect: target,
    model,
    project: settings.project,
    budgetTokens: settings.trainingBudget,
  });
  try {
    for (const check of checks) onFinding(await check(server, signal));
    onFinding({
      state: 'note',
      what: notRunLive,
      advice: 'look at the first versions with clawloop policy list',
    });
    onFinding(temperatureNote);
    if (settings.gpus !== undefined) onFinding(gpuNote(settings.gpus));
    return true;
  } catch (error) {
    if (!isServiceError(error)) throw error;
    const advice = isPassing(error) ? 'then run this command again' : 'see clawloop deploy --help';
    onFinding({ state: 'bad', what: error.message, advice });
    return false;
  } finally {
    await server.close();
  }
}

const checks: readonly ((server: TrainingServer, signal: AbortSignal) => Promise<Finding>)[] = [
  async (server, signal) => {
    const { models, contextTokens } = await server.check(signal);
    const limit = contextTokens === undefined ? '' : `, up to ${contextTokens} tokens`;
    return models === undefined
      ? {
          state: 'note',
          what: `the service answers; it does not list its models, so ${server.model} is not checked`,
        }
      : { state: 'ok', what: `the service answers and trains ${server.model}${limit}` };
  },
  async (server, signal) => {
    const { gradientNorm } = await checkConformance(server, { vocabularySize: PROBE_VOCABULARY }, signal);
    const norm = gradientNorm === undefined ? '' : `, norm ${gradientNorm.toPrecision(4)}`;
    const tokens = totalTokens(server.usage());
    return { state: 'ok', what: `its gradients are as expected${norm}; the check took ${tokens} tokens` };
  },
  async ({ dialect, capabilities }) => {
    const lacks = [
      capabilities.severalTargets ? [] : ['distillation topk and overlap'],
      capabilities.gradientClip ? [] : ['clipping of gradients'],
      capabilities.deletesStates ? [] : ['removal of old states, which it keeps'],
    ].flat();
    const { fixedAlpha } = dialects[dialect].capabilities;
    const alpha = fixedAlpha === undefined ? '' : `; alpha is always ${fixedAlpha}`;
    return lacks.length === 0
      ? { state: 'ok', what: `it can do everything that the trainer asks for${alpha}` }
      : { state: 'note', what: `it cannot do: ${lacks.join('; ')}${alpha}` };
  },
];

const temperatureNote: Finding = {
  state: 'note',
  what: 'only answers that were sampled at temperature 1 train there',
  advice: 'let your clients send temperature: 1',
};

const gpuNote = (gpus: number): Finding => ({
  state: 'note',
  what: `--gpus ${gpus} is not sent: the service, or the trainer job at --training-url, fixes the number of GPUs`,
});
