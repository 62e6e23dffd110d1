import { monotonicNow } from './clock.ts';

/** s of waiting after which the wait is reported; then once a minute */
const REPORTED_AFTER_S = [0, 5, 15, 30, 60];
const EVERY_S = 60;

export type WaitNotice = {
  /** Call when there is no answer; reported at once and again during the wait. */
  readonly away: (reason: string) => void;
  /** Call when there is an answer; reported if the wait was. */
  readonly back: () => void;
  /** s since the wait began; undefined while there is none. */
  readonly seconds: () => number | undefined;
};

/** Reports that a service is waiting, at growing intervals. `away` may be called as often as it is noticed. */
export function createWaitNotice(
  report: {
    readonly away: (reason: string, seconds: number) => void;
    readonly back: (seconds: number) => void;
  },
  now: () => number = monotonicNow,
): WaitNotice {
  let since: number | undefined;
  let reports = 0;
  const seconds = () => (since === undefined ? undefined : Math.round((now() - since) / 1000));
  return {
    away: (reason) => {
      since ??= now();
      const due =
        REPORTED_AFTER_S[reports] ??
        REPORTED_AFTER_S.at(-1)! + EVERY_S * (reports - REPORTED_AFTER_S.length + 1);
      const waited = (now() - since) / 1000;
      if (waited < due) return;
      reports += 1;
      report.away(reason, Math.round(waited));
    },
    back: () => {
      const waited = seconds();
      since = undefined;
      if (reports > 0) report.back(waited ?? 0);
      reports = 0;
    },
    seconds,
  };
}
