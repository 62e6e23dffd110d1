import { barOf, openBar } from '../../shared/runtime/progress-bar.ts';
import type { AttemptOutcome } from './run-attempt.ts';

/** `rollout [######------------------] 25 % 4 of 16 attempts, 1 failed, mean reward 0.33` */
export function openProgress(output: NodeJS.WriteStream, total: number) {
  let [done, rewarded, sum] = [0, 0, 0];
  const bar = openBar(output, (progress: { readonly done: number; readonly total: number }) => {
    const failures = done === rewarded ? '' : `, ${done - rewarded} failed`;
    const mean = rewarded === 0 ? '' : `, mean reward ${(sum / rewarded).toFixed(2)}`;
    return `rollout ${barOf(progress)} ${done} of ${total} attempts${failures}${mean}`;
  });
  bar.on({ done, total });
  return {
    on: (outcome: AttemptOutcome): void => {
      done++;
      if (outcome.kind === 'rewarded') {
        rewarded++;
        sum += outcome.reward;
      }
      bar.on({ done, total });
    },
    end: bar.end,
  };
}
