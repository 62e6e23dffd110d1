import { monotonicNow } from '../../../shared/runtime/clock.ts';
import { lowerPriority } from '../../../shared/runtime/lower-priority.ts';
import { barOf, openBar } from '../../../shared/runtime/progress-bar.ts';
import { stopOnSignals } from '../../../shared/runtime/stop-on-signals.ts';
import { explained } from './file-errors.ts';
import type { BackupOptions, BackupProgress } from './take-backup.ts';

/** ms without a terminal during which nothing is printed: a short run of a scheduled job stays silent */
const SILENT_MS = 3_000;

/**
 * Runs `work` at low priority, with a progress bar. `left` says in an error what is untouched.
 * @returns undefined: the user stopped it
 */
export async function runVisibly<Result>(
  left: string,
  work: (options: Pick<BackupOptions, 'onProgress' | 'signal'>) => Promise<Result>,
): Promise<Result | undefined> {
  lowerPriority();
  const stop = new AbortController();
  const ignoreSignals = stopOnSignals(stop, `stopping. ${left}`);
  const bar = openBar(process.stderr, (progress: BackupProgress) => `${barOf(progress)} ${progress.what}`);
  const started = monotonicNow();
  const onProgress = (progress: BackupProgress) => {
    if (process.stderr.isTTY || monotonicNow() - started > SILENT_MS) bar.on(progress);
  };
  try {
    return await work({ onProgress, signal: stop.signal });
  } catch (error) {
    if (stop.signal.aborted) return undefined;
    throw explained(error, left);
  } finally {
    bar.end();
    ignoreSignals();
  }
}
