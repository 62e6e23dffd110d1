import type { JobQueueSettings } from './job-queue.ts';

/**
 * ms to wait after a failed try (1 for the first). The delay doubles with each try up to `maxBackoffMs`. Its
 * share `jitter` is random, so that jobs that fail together do not retry together. `random` is uniform in [0, 1).
 */
export function backoffDelay(
  { backoffMs, maxBackoffMs, jitter }: Pick<JobQueueSettings, 'backoffMs' | 'maxBackoffMs' | 'jitter'>,
  attempt: number,
  random: number,
): number {
  const full = Math.min(maxBackoffMs, backoffMs * 2 ** (attempt - 1));
  return full * (1 - jitter * random);
}
