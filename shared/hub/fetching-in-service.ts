import type { Logger } from '../service/logger.ts';
import { everyTenth } from '../service/progress-bar.ts';
import type { FetchModelOptions } from './fetch-model.ts';

/** How a service tells of a model that it fetches: in lines of its log. */
export const fetchingInService = (logger: Logger, signal: AbortSignal): FetchModelOptions => ({
  onProgress: everyTenth((progress) => logger.info(progress, 'fetching the model')),
  onWaiting: () => logger.info('another process fetches the model; waiting for it'),
  signal,
});
