import type { JudgmentReached } from '../../shared/events/judgment-reached.ts';
import type { TurnFeedback } from '../../shared/events/turn-feedback.ts';
import { defined } from '../../shared/lang/defined.ts';
import type { OpenTurn, Step } from './judge-rows.ts';
import { tally, votesOf } from './tally.ts';

/** Votes on the steps of a rewarded session, which are added to the returns of these steps. */

type StepVerdict = Pick<JudgmentReached['data'], 'score' | 'mean' | 'source' | 'advantage' | 'process'>;

/** The step with its return. The first return counts. */
export function earnReturn(turn: OpenTurn, step: Step, { id, data }: TurnFeedback): OpenTurn {
  const { score, advantage, process } = data;
  if (step.earned !== undefined) return turn;
  const earned = { score, id, against: process ?? { baseline: 0, scale: 1 }, ...defined({ advantage }) };
  const gaveUp = process ? step.gaveUp : (true as const);
  return { ...turn, step: { ...step, earned, ...defined({ gaveUp }) } };
}

/** The step without any vote that is missing or comes later. Votes that are all there count. */
export const giveUp = (turn: OpenTurn, step: Step): OpenTurn =>
  isComplete(turn) ? turn : { ...turn, step: { ...step, gaveUp: true } };

const isComplete = ({ votes, needs }: OpenTurn): boolean => Object.keys(votes).length >= needs;

/**
 * The verdict on a step: its return, and how its mean vote compares. Without all its votes it is the return alone.
 * undefined: the return or a vote is still to come.
 */
export function stepVerdict(turn: OpenTurn): StepVerdict | undefined {
  const { weight, gaveUp, earned } = turn.step ?? {};
  if (earned === undefined || weight === undefined || !(gaveUp || isComplete(turn))) return undefined;
  const { id, against } = earned;
  const mean = gaveUp ? null : tally(votesOf(turn)).mean;
  const part = mean === null ? 0 : (weight * (mean - against.baseline)) / against.scale;
  const score = earned.advantage === undefined ? earned.score + part : earned.score;
  return {
    score,
    mean: score,
    source: mean === null ? 'reward' : 'reward+process',
    ...defined({ advantage: earned.advantage === undefined ? undefined : earned.advantage + part }),
    process: { mean, weight, ...against, part, earned: id },
  };
}
