import type { Logger } from '../runtime/logger.ts';
import { everyTenth } from '../runtime/progress-bar.ts';
import type { FetchModelOptions } from './fetch-model.ts';

/** Logs the progress of a model download in a service. */
export const fetchingInService = (logger: Logger, signal: AbortSignal): FetchModelOptions => ({
  onProgress: everyTenth((progress) => logger.info(progress, 'fetching the model')),
  onWaiting: () => logger.info('another process is fetching the model; waiting for it'),
  signal,
});
