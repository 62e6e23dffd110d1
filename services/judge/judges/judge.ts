import type { HintCast } from '../../../shared/events/hint-cast.ts';
import type { TurnCompleted } from '../../../shared/events/turn-completed.ts';
import type { VoteCast } from '../../../shared/events/vote-cast.ts';

/** The result of one vote. `vote: null`: the judge answered, but not with a verdict. */
export type Opinion = Pick<VoteCast['data'], 'vote' | 'text' | 'hint' | 'model' | 'cost'>;

/** The result of one hint vote. */
export type HintOpinion = Pick<HintCast['data'], 'decision' | 'text' | 'hint' | 'model' | 'cost'>;

/** A way to judge a turn by its next state. */
export type Judge = {
  readonly name: string;
  /** 1 for a deterministic judge */
  readonly defaultVotes: number;
  /**
   * Throws when the judge is unreachable or does not answer; the vote is then retried.
   * @throws VOTE_OVERRAN, VOTE_BROKE when the turn is the cause; the third time the turn is set aside
   */
  readonly vote: (turn: TurnCompleted['data'], index: number, signal: AbortSignal) => Promise<Opinion>;
  /**
   * Votes on a step of a rewarded session: whether it advanced its task, by what came back. Throws like `vote`.
   * Absent: the judge reads what people say, so it abstains.
   */
  readonly step?: (turn: TurnCompleted['data'], index: number, signal: AbortSignal) => Promise<Opinion>;
  /** 0 for a judge whose votes include hints */
  readonly defaultHintVotes: number;
  /** Asks what the answer should have been. Absent: votes include hints. Throws like `vote`. */
  readonly hint?: (turn: TurnCompleted['data'], index: number, signal: AbortSignal) => Promise<HintOpinion>;
  /** Default time limit of one attempt at a vote, if 60 s are too short. ms */
  readonly defaultTimeoutMs?: number;
  /** Loads what the first vote needs. Resolves with a description for the log. Absent: nothing to load. */
  readonly open?: () => Promise<string>;
  /** Stops what the judge keeps running between votes. */
  readonly close?: () => Promise<void>;
};
