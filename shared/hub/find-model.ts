import { modelFolder } from '../policy/model-folder.ts';
import { type GivenHubConfig, hubSettings } from './config.ts';
import { type FetchModelOptions, fetchModel } from './fetch-model.ts';
import { cachedModel } from './hub-cache.ts';
import { hubIdOf } from './hub-id.ts';

export type ModelSettings = GivenHubConfig & { readonly model: string };

/**
 * The folder of the model that the settings name, fetched from the hub when it is not on this machine. A
 * model that was fetched once is never looked up again: adapters belong to the very bytes that they were
 * trained on.
 *
 * @throws UnknownModel as modelFolder; as fetchModel
 */
export async function findModel(settings: ModelSettings, options: FetchModelOptions): Promise<string> {
  const hubId = hubIdOf(settings.model);
  if (hubId === undefined) return modelFolder(settings.model);
  const hub = hubSettings(settings);
  return cachedModel(hub.cache, hubId) ?? fetchModel(hub, hubId, options);
}

/** The same without the network; undefined: a model of the hub that was not fetched yet. */
export function findModelHere(settings: ModelSettings): string | undefined {
  const hubId = hubIdOf(settings.model);
  return hubId === undefined ? modelFolder(settings.model) : cachedModel(hubSettings(settings).cache, hubId);
}
