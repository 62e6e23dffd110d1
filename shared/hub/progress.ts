import { barOf, openBar, type ProgressBar } from '../runtime/progress-bar.ts';
import type { Progress } from './fetch-model.ts';

const MEGA = 1e6;

/** `SmolLM2-135M [#####------] 21 % 57 of 269 MB, 11.2 MB/s, model.safetensors` */
function progressLine(progress: Progress, bytesPerSecond: number): string {
  const { id, path, done, total } = progress;
  const [got, all] = [done, total].map((bytes) => (bytes / MEGA).toFixed(0));
  const rate = bytesPerSecond > 0 ? `, ${(bytesPerSecond / MEGA).toFixed(1)} MB/s` : '';
  return `${id} ${barOf(progress)} ${got} of ${all} MB${rate}, ${path}`;
}

/** Progress bar of a model download. */
export function progressBar(
  output: NodeJS.WriteStream,
  now: () => number = () => performance.now(),
): ProgressBar<Progress> {
  const started = now();
  let first: number | undefined;
  const line = (progress: Progress): string => {
    first ??= progress.done; // existing bytes do not count for the rate
    const seconds = (now() - started) / 1000;
    return progressLine(progress, seconds < 0.5 ? 0 : (progress.done - first) / seconds);
  };
  return openBar(output, line, now);
}
