const LONGEST_WAIT_MS = 2_000;
/** ms, since the last wait was in vain */
const SHORT_WAIT_MS = 50;

/**
 * Waits until a view has reached the end of the log as of now, at most 2 s, and hardly while the log is away. The
 * answer is false where it has not: what the view does not know may be there.
 *
 * @param reach resolves when the end is reached
 */
export function createReachEnd(reach: () => Promise<unknown>): () => Promise<boolean> {
  let isLate = false;
  return async () => {
    let timer: NodeJS.Timeout | undefined;
    const limit = new Promise<false>((resolve) => {
      timer = setTimeout(resolve, isLate ? SHORT_WAIT_MS : LONGEST_WAIT_MS, false);
    });
    const reached = reach().then(
      () => {
        isLate = false;
        return true;
      },
      () => false,
    );
    const isReached = await Promise.race([reached, limit]).finally(() => clearTimeout(timer));
    if (!isReached) isLate = true;
    return isReached;
  };
}
