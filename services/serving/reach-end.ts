import { withDeadline } from '../../shared/lang/async.ts';

const LONGEST_WAIT_MS = 2_000;
/** ms, after a wait that timed out */
const SHORT_WAIT_MS = 50;

/**
 * Waits until a view has reached the current end of the log, at most 2 s, and only briefly while the log is unavailable.
 * False: the view has not reached it, so it may miss records.
 *
 * @param reach resolves when the end is reached
 */
export function createReachEnd(reach: () => Promise<unknown>): () => Promise<boolean> {
  let isLate = false;
  return async () => {
    const reached = reach().then(
      () => {
        isLate = false;
        return true;
      },
      () => false,
    );
    const isReached = await withDeadline(reached, isLate ? SHORT_WAIT_MS : LONGEST_WAIT_MS, () => false);
    if (!isReached) isLate = true;
    return isReached;
  };
}
