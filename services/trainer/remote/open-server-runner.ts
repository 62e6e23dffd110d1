import {
  type TrainingServerConfig,
  trainingAccess,
  trainingPlace,
} from '../../../shared/config/training-server.ts';
import type { TrainingKind } from '../../../shared/events/training-settings.ts';
import { doubling, pause } from '../../../shared/lang/async.ts';
import type { Logger } from '../../../shared/runtime/logger.ts';
import { Refusal } from '../../../shared/runtime/refusal.ts';
import { isPassing } from '../../../shared/tinker/errors.ts';
import { openRemoteStepRunner, type RemoteStepRunner } from './remote-step-runner.ts';
import { openUsedTokens } from './used-tokens.ts';

type Config = TrainingServerConfig & { readonly model: string; readonly training: TrainingKind };

type Place = {
  readonly modelFolder: string;
  /** file with the tokens that were sent so far */
  readonly usedTokens: string;
  readonly logger: Logger;
  readonly onWaiting: (reason: string) => void;
  readonly signal: AbortSignal;
};

/** Servers of one's own check no key, but the protocol wants one. */
const OWN_SERVER_KEY = 'tml-none';

/** ms between two tries to reach the server at start */
const [FIRST_WAIT_MS, LONGEST_WAIT_MS] = [500, 30_000];

/**
 * The step runner of the configured training server. Waits until the server can be reached.
 * @throws Refusal if another setting is needed
 */
export async function openServerRunner(config: Config, place: Place): Promise<RemoteStepRunner> {
  const { modelFolder, logger, signal } = place;
  if (config.training === 'full')
    throw new Refusal('--training full needs --training-engine local: a training server trains adapters');
  const { url, dialect } = trainingPlace(config);
  if (url === undefined)
    throw new Refusal('--training-engine tinker needs --training-url, the address of the training server');
  const isHosted = dialect === 'tinker' || dialect === 'fireworks';
  const { apiKey = isHosted ? undefined : OWN_SERVER_KEY, project } = trainingAccess(config);
  if (apiKey === undefined) {
    const variable = dialect === 'tinker' ? 'TINKER_API_KEY' : 'FIREWORKS_API_KEY';
    throw new Refusal(`a ${dialect} server needs --training-api-key, or the variable ${variable}`);
  }
  const runner = openRemoteStepRunner({
    ...{ modelFolder, url, dialect, apiKey, project, logger },
    model: config.trainingModel ?? config.model,
    budget: config.trainingBudget,
    used: await openUsedTokens(place.usedTokens),
  });
  for (const wait of doubling(FIRST_WAIT_MS, LONGEST_WAIT_MS)) {
    try {
      await runner.open();
      break;
    } catch (error) {
      if (!isPassing(error)) throw error;
      const reason = (error as Error).message;
      place.onWaiting(reason);
      logger.warn({ reason }, 'waiting for the training server');
      await pause(wait, signal);
      signal.throwIfAborted();
    }
  }
  return runner;
}
