import type { StepProgress } from './step.ts';

/** ms between two lines about a running step */
const PROGRESS_MS = 3_000;

export type ReportedProgress = StepProgress & {
  /** until the phase is done, at the pace it had so far */
  readonly secondsLeft: number;
};

/**
 * What is said of a running step, and how often: a line each few seconds, and none of a step that is over
 * before.
 *
 * @param now ms, monotonic
 */
export function progressReport(say: (progress: ReportedProgress) => void, now: () => number) {
  let said = now();
  let phase: StepProgress['phase'] | undefined;
  let phaseBegan = said;
  let before = said;
  return (progress: StepProgress): void => {
    const at = now();
    if (progress.phase !== phase) {
      phase = progress.phase;
      phaseBegan = before; // told when a part of the phase is done, not when it begins
    }
    before = at;
    if (at - said < PROGRESS_MS) return;
    said = at;
    const perSample = (at - phaseBegan) / progress.samples;
    say({ ...progress, secondsLeft: Math.round((perSample * (progress.of - progress.samples)) / 1000) });
  };
}
