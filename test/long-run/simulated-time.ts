/** A clock that runs `rate` times as fast as the real one since `since`, ms since 1970. */
export type FastTime = { readonly since: number; readonly rate: number };

/**
 * Timers up to this length stay real, ms. They guard and pace real work: requests, the start of a thread, a judge's answer.
 * Longer timers wait for the calendar: the next trim, a sweep of old answers, a retry after ten minutes.
 */
const REAL_UP_TO_MS = 300_000;

export const simulated = ({ since, rate }: FastTime, realMs: number): number =>
  since + (realMs - since) * rate;
export const real = ({ since, rate }: FastTime, simulatedMs: number): number =>
  since + (simulatedMs - since) / rate;

/** The real length of a timer, ms. */
export const timerMs = ({ rate }: FastTime, ms: number): number => (ms > REAL_UP_TO_MS ? ms / rate : ms);

const preload = new URL('./fast-clock.ts', import.meta.url);

/** The variables that give a Node process, its threads and its children this clock. */
export const clockEnvironment = ({ since, rate }: FastTime): Readonly<Record<string, string>> => ({
  NODE_OPTIONS:
    `${process.env.NODE_OPTIONS ?? ''} --import=${preload.href}?since=${since}&rate=${rate}`.trim(),
});

export function readClock(url: string): FastTime {
  const { searchParams } = new URL(url);
  return { since: Number(searchParams.get('since')), rate: Number(searchParams.get('rate')) };
}
