import { hubSettings } from '../../shared/hub/config.ts';
import { fetchModel } from '../../shared/hub/fetch-model.ts';
import { findModel, type ModelSettings } from '../../shared/hub/find-model.ts';
import { hubIdOf } from '../../shared/hub/hub-id.ts';
import { progressBar } from '../../shared/hub/progress.ts';

/**
 * Finds or fetches a model, with a progress bar, and returns its folder.
 * @param newest look for a newer commit even if the model is here
 */
export async function fetchWithBar(
  settings: ModelSettings,
  signal: AbortSignal,
  { newest = false }: { readonly newest?: boolean } = {},
): Promise<string> {
  const bar = progressBar(process.stderr);
  const options = {
    onProgress: bar.on,
    onWaiting: () => console.error('another process is fetching the model; waiting for it'),
    signal,
  };
  const hubId = hubIdOf(settings.model);
  try {
    return newest && hubId !== undefined
      ? await fetchModel(hubSettings(settings), hubId, options)
      : await findModel(settings, options);
  } finally {
    bar.end();
  }
}
