import { modelFolder } from '../policy/model/model-folder.ts';
import { type GivenHubConfig, hubSettings } from './config.ts';
import { type FetchModelOptions, fetchModel } from './fetch-model.ts';
import { cachedModel } from './hub-cache.ts';
import { hubIdOf } from './hub-id.ts';

export type ModelSettings = GivenHubConfig & { readonly model: string };

/**
 * Folder of the configured model, downloaded from the hub if it is not on this machine. A downloaded model is
 * never updated by itself, because adapters belong to the exact weights that they were trained on.
 *
 * @throws UnknownModel from modelFolder; errors of fetchModel
 */
export async function findModel(settings: ModelSettings, options: FetchModelOptions): Promise<string> {
  const hubId = hubIdOf(settings.model);
  if (hubId === undefined) return modelFolder(settings.model);
  const hub = hubSettings(settings);
  return cachedModel(hub.cache, hubId) ?? fetchModel(hub, hubId, options);
}

/** Finds the model without network access; undefined: a hub model that is not downloaded yet. */
export function findModelHere(settings: ModelSettings): string | undefined {
  const hubId = hubIdOf(settings.model);
  return hubId === undefined ? modelFolder(settings.model) : cachedModel(hubSettings(settings).cache, hubId);
}
