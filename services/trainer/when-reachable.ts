import { pause } from '../../shared/lang/async.ts';
import { isStoreUnavailable } from '../../shared/policy/checkpoints/store-unavailable.ts';
import type { Logger } from '../../shared/runtime/logger.ts';
import { createWaitNotice } from '../../shared/runtime/wait-notice.ts';

const RETRY_MS = 1_000;

type Options = {
  readonly logger: Pick<Logger, 'info' | 'warn'>;
  readonly onWaiting: (reason: string) => void;
  readonly signal: AbortSignal;
};

/** Repeats what only reads checkpoints until they can be reached. An abort ends the wait with the last error. */
export async function whenReachable<Result>(
  read: () => Promise<Result>,
  { logger, onWaiting, signal }: Options,
): Promise<Result> {
  const notice = createWaitNotice({
    away: (reason, seconds) => logger.warn({ reason, seconds }, 'waiting for the checkpoints'),
    back: (seconds) => logger.info({ seconds }, 'the wait for the checkpoints is over'),
  });
  for (;;) {
    try {
      const result = await read();
      notice.back();
      return result;
    } catch (error) {
      if (!isStoreUnavailable(error) || signal.aborted) throw error;
      onWaiting(error.message);
      notice.away(error.message);
    }
    await pause(RETRY_MS, signal);
  }
}
