import type { Logger } from '../service/logger.ts';
import type { FetchModelOptions } from './fetch-model.ts';
import { everyTenth } from './progress.ts';

/** How a service tells of a model that it fetches: in lines of its log. */
export const fetchingInService = (logger: Logger, signal: AbortSignal): FetchModelOptions => ({
  onProgress: everyTenth((progress) => logger.info(progress, 'fetching the model')),
  onWaiting: () => logger.info('another process fetches the model; waiting for it'),
  signal,
});
