import type { StepProgress } from './step.ts';

/** ms between progress lines */
const PROGRESS_MS = 3_000;

export type ReportedProgress = StepProgress & {
  /** until the phase is done, at its pace so far */
  readonly secondsLeft: number;
};

/**
 * Reports the progress of a running step every few seconds; a shorter step reports nothing. The gate gives no progress of
 * its own, so after an earlier report its beginning is reported at once.
 *
 * @param now ms, monotonic
 */
export function progressReport(report: (progress: ReportedProgress) => void, now: () => number) {
  const began = now();
  let reportedAt = began;
  let phase: StepProgress['phase'] | undefined;
  let phaseBegan = reportedAt;
  let before = reportedAt;
  return (progress: StepProgress): void => {
    const at = now();
    if (progress.phase !== phase) {
      phase = progress.phase;
      phaseBegan = before; // progress arrives when a part of a phase is done, not when it begins
    }
    before = at;
    const gateBegins = progress.phase === 'gate' && reportedAt > began;
    if (at - reportedAt < PROGRESS_MS && !gateBegins) return;
    reportedAt = at;
    const perSample = (at - phaseBegan) / progress.samples;
    report({ ...progress, secondsLeft: Math.round((perSample * (progress.of - progress.samples)) / 1000) });
  };
}
