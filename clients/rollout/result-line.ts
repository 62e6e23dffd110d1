import type { Settled } from './run-rollout.ts';

/** An attempt as a line of the results file. Without a reward, `reward` is null, never 0. */
export function resultLine({ attempt, outcome, advantage, steps, isEnded }: Settled): string {
  const isRewarded = outcome.kind === 'rewarded';
  return JSON.stringify({
    task: attempt.task.name,
    index: attempt.index,
    attempt: attempt.attempt,
    outcome: isRewarded ? 'rewarded' : outcome.failure,
    reward: isRewarded ? outcome.reward : null,
    advantage: advantage ?? null,
    ...(steps === undefined
      ? {}
      : { steps: steps.map(({ interaction, votes, score }) => ({ interaction, votes, score })) }),
    session: isRewarded ? outcome.session.session : (outcome.session ?? null),
    interaction: isRewarded ? outcome.interaction : null,
    ended: isRewarded ? isEnded : null,
    error: isRewarded ? null : outcome.error,
    earlier: outcome.earlier,
    ms: Math.round(outcome.ms),
    result: isRewarded ? writable(outcome.result) : null,
  });
}

/** The result of an agent, as text if JSON cannot represent it. */
function writable(result: unknown): unknown {
  try {
    return JSON.stringify(result) === undefined ? String(result) : result;
  } catch {
    return String(result);
  }
}
