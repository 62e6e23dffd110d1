import { monotonicNow } from './clock.ts';

/** s of waiting after which it is said again; then once a minute */
const SAID_AFTER_S = [0, 5, 15, 30, 60];
const EVERY_S = 60;

export type WaitNotice = {
  /** It does not answer: said at once, and again as the wait goes on. */
  readonly away: (reason: string) => void;
  /** It answers: said if its absence was. */
  readonly back: () => void;
  /** s since it was away first; undefined while it is there. */
  readonly seconds: () => number | undefined;
};

/**
 * Says for what a service waits, and for how long by now, at intervals that a person can bear. `away` may be
 * called as often as it is noticed.
 */
export function createWaitNotice(
  say: { readonly away: (reason: string, seconds: number) => void; readonly back: (seconds: number) => void },
  now: () => number = monotonicNow,
): WaitNotice {
  let since: number | undefined;
  let said = 0;
  const seconds = () => (since === undefined ? undefined : Math.round((now() - since) / 1000));
  return {
    away: (reason) => {
      since ??= now();
      const due = SAID_AFTER_S[said] ?? SAID_AFTER_S.at(-1)! + EVERY_S * (said - SAID_AFTER_S.length + 1);
      const waited = (now() - since) / 1000;
      if (waited < due) return;
      said += 1;
      say.away(reason, Math.round(waited));
    },
    back: () => {
      const waited = seconds();
      since = undefined;
      if (said > 0) say.back(waited ?? 0);
      said = 0;
    },
    seconds,
  };
}
