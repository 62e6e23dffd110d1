import {
  anchorAdvantages,
  indexBuckets,
  processBaselineOf,
  type ScoredAttempt,
} from '../../shared/policy/losses/step-advantages.ts';
import { treeReturns } from '../../shared/policy/losses/tree-returns.ts';
import type { ComparedStep, SessionStep } from '../api-client.ts';

/** How the steps of attempts at one task are compared. */
export type StepSettings = {
  /** weight of process scores; 0: the judge does not vote */
  readonly process: number;
  readonly processBaseline: 'attempt' | 'index';
  /** weight of the comparison where attempts met in one state; 0: none */
  readonly anchors: number;
};

/** A state that an environment showed, by the hash of its text. */
export type ShownState = { readonly hash: string; readonly stateKey: string };

/** A rewarded attempt. */
export type StepsOfAttempt = {
  readonly reward: number;
  /** compared with the other attempts as a whole */
  readonly advantage: number;
  /** undefined: the server did not report them */
  readonly steps: readonly SessionStep[] | undefined;
  /** in the order in which the environment showed them */
  readonly states: readonly ShownState[];
};

type Compared = {
  /** of the last answer; goes up the conversation tree */
  readonly advantage: number;
  readonly steps: readonly ComparedStep[];
};

/** The comparisons that each attempt's last reward sends: of the attempt and of its steps. [N] */
export function compareSteps(
  attempts: readonly StepsOfAttempt[],
  settings: StepSettings,
): readonly Compared[] {
  const anchored = settings.anchors === 0 ? undefined : anchorsOf(attempts, settings.anchors);
  const scored = attempts.map(
    ({ reward, steps = [] }): ScoredAttempt => ({ outcome: reward, scores: steps.map(({ score }) => score) }),
  );
  const anchorOf = (attempt: number, step: number) => anchored?.[attempt]?.[step];
  if (settings.process !== 0 && settings.processBaseline === 'index')
    return byIndex(attempts, indexBuckets(scored, settings.process), anchorOf);
  const baseline = processBaselineOf(scored);
  return attempts.map(({ advantage, steps = [] }, attempt) => ({
    advantage,
    steps: steps.map(({ interaction, score }, step) => ({
      interaction,
      advantage: anchorOf(attempt, step),
      process: settings.process === 0 || score === null ? undefined : { baseline, scale: 1 },
    })),
  }));
}

/** The outcome is part of each step's own advantage, so that nothing goes up the tree. */
const byIndex = (
  attempts: readonly StepsOfAttempt[],
  buckets: ReturnType<typeof indexBuckets>,
  anchorOf: (attempt: number, step: number) => number | undefined,
): readonly Compared[] =>
  attempts.map(({ reward, steps = [] }, attempt) => ({
    advantage: 0,
    steps: steps.map(({ interaction, score }, step) => {
      const bucket = buckets[step];
      const outcome = bucket ? (reward - bucket.outcome) / bucket.scale : 0;
      return {
        interaction,
        advantage: outcome + (anchorOf(attempt, step) ?? 0),
        process: bucket && score !== null ? { baseline: bucket.score, scale: bucket.scale } : undefined,
      };
    }),
  }));

/** [N][T] */
function anchorsOf(attempts: readonly StepsOfAttempt[], weight: number): readonly (readonly number[])[] {
  const visits = attempts.flatMap(({ steps = [], states }, attempt) => {
    const returns = returnsOf(steps);
    const keyOf = stateKeys(states);
    return steps.map(({ observed }, step) => ({
      attempt,
      state: keyOf(observed),
      return: returns[step]!,
    }));
  });
  const advantages = anchorAdvantages(visits).values();
  return attempts.map(({ steps = [] }) => steps.map(() => weight * advantages.next().value!));
}

/** The sum of rewards from each step on, along the conversation tree. */
function returnsOf(steps: readonly SessionStep[]): readonly number[] {
  const indexOf = new Map(steps.map(({ interaction }, index) => [interaction, index]));
  const parents = steps.map(({ continues }) =>
    continues === null ? null : (indexOf.get(continues) ?? null),
  );
  return treeReturns(
    parents,
    steps.map(({ reward }) => reward ?? 0),
    1,
  );
}

/**
 * Names the state in which a step was taken: as its environment names what it showed last, else by the text that the
 * step answered. Equal texts of one attempt get their names in the order in which they were shown.
 */
function stateKeys(states: readonly ShownState[]): (observed: readonly string[]) => string {
  let next = 0;
  return (observed) => {
    const last = observed.at(-1);
    const at = states.findIndex(({ hash }, index) => index >= next && hash === last);
    if (at !== -1) next = at + 1;
    const shown = at === -1 ? states.findLast(({ hash }) => hash === last) : states[at];
    return shown === undefined ? `text ${observed.join(' ')}` : `state ${shown.stateKey}`;
  };
}
