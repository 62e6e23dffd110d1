import type { Logger } from '../../shared/service/logger.ts';
import { createWaitNotice, type WaitNotice } from '../../shared/service/wait-notice.ts';

/** Which adapters' checkpoints are waited for: said in the log, and by readiness. */
export function watchStores(logger: Logger) {
  const reasons = new Map<string, string>();
  const notices = new Map<string, WaitNotice>();
  const noticeOf = (adapter: string): WaitNotice => {
    const known = notices.get(adapter);
    if (known !== undefined) return known;
    const notice = createWaitNotice({
      away: (reason, seconds) => logger.warn({ adapter, reason, seconds }, 'waiting for the checkpoints'),
      back: (seconds) => logger.info({ adapter, seconds }, 'the checkpoints are back'),
    });
    notices.set(adapter, notice);
    return notice;
  };
  return {
    away: (adapter: string, reason: string): void => {
      reasons.set(adapter, reason);
      noticeOf(adapter).away(reason);
    },
    back: (adapter: string): void => {
      if (reasons.delete(adapter)) noticeOf(adapter).back();
    },
    /** Why a batch cannot be trained now. */
    missing: (): string | undefined => {
      const [first] = reasons;
      return first && `the checkpoints of ${first[0]} are waited for: ${first[1]}`;
    },
  };
}
