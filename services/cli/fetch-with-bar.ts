import { hubSettings } from '../../shared/hub/config.ts';
import { fetchModel, type Progress } from '../../shared/hub/fetch-model.ts';
import { findModel, type ModelSettings } from '../../shared/hub/find-model.ts';
import { hubIdOf } from '../../shared/hub/hub-id.ts';
import { barOf, openBar, type ProgressBar } from '../../shared/runtime/progress-bar.ts';

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

const MEGA = 1e6;

/** `SmolLM2-135M [#####------] 21 % 57 of 269 MB, 11.2 MB/s, model.safetensors` */
function progressLine(progress: Progress, bytesPerSecond: number): string {
  const { id, path, done, total } = progress;
  const [got, all] = [done, total].map((bytes) => (bytes / MEGA).toFixed(0));
  const rate = bytesPerSecond > 0 ? `, ${(bytesPerSecond / MEGA).toFixed(1)} MB/s` : '';
  return `${id} ${barOf(progress)} ${got} of ${all} MB${rate}, ${path}`;
}

function progressBar(output: NodeJS.WriteStream): ProgressBar<Progress> {
  const started = performance.now();
  let first: number | undefined;
  const line = (progress: Progress): string => {
    first ??= progress.done; // existing bytes do not count for the rate
    const seconds = (performance.now() - started) / 1000;
    return progressLine(progress, seconds < 0.5 ? 0 : (progress.done - first) / seconds);
  };
  return openBar(output, line);
}
