import type { JobQueueSettings } from './job-queue.ts';

/**
 * ms to wait after the given failed try (1 for the first): doubles from try to try up to `maxBackoffMs`; the
 * share `jitter` of
 * it is drawn at random, so that jobs that failed together do not come back together. `random` is uniform in
 * [0, 1).
 */
export function backoffDelay(
  { backoffMs, maxBackoffMs, jitter }: Pick<JobQueueSettings, 'backoffMs' | 'maxBackoffMs' | 'jitter'>,
  attempt: number,
  random: number,
): number {
  const full = Math.min(maxBackoffMs, backoffMs * 2 ** (attempt - 1));
  return full * (1 - jitter * random);
}
