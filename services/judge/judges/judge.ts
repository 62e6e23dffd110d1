import type { HintCast } from '../../../shared/events/hint-cast.ts';
import type { TurnCompleted } from '../../../shared/events/turn-completed.ts';
import type { VoteCast } from '../../../shared/events/vote-cast.ts';

/** What one look at a turn gave. `vote: null`: the judge answered, but not with a verdict. */
export type Opinion = Pick<VoteCast['data'], 'vote' | 'text' | 'hint' | 'model' | 'cost'>;

/** What one look for a hint gave. */
export type HintOpinion = Pick<HintCast['data'], 'decision' | 'text' | 'hint' | 'model' | 'cost'>;

/** One way to judge a turn by what came next. */
export type Judge = {
  readonly name: string;
  /** one for a judge that does not vary */
  readonly defaultVotes: number;
  /**
   * Throws when the judge cannot be reached or does not answer: that is no vote, and it is tried again. Throws
   * VOTE_OVERRAN or VOTE_BROKE when the turn itself is the cause: the third time the turn is set aside.
   */
  readonly vote: (turn: TurnCompleted['data'], index: number, signal: AbortSignal) => Promise<Opinion>;
  /** 0 for a judge whose votes bring their hints */
  readonly defaultHintVotes: number;
  /**
   * What the answer should have been. Absent: a judge whose votes bring their hints. Throws as `vote`
   * does.
   */
  readonly hint?: (turn: TurnCompleted['data'], index: number, signal: AbortSignal) => Promise<HintOpinion>;
  /** ms per try of one vote, where the settings say nothing and 60 s are too few */
  readonly defaultTimeoutMs?: number;
  /**
   * Makes ready what the first vote would wait for, and tells what that is, for the log. Rejects when it cannot
   * be made ready. Absent: there is nothing to wait for.
   */
  readonly open?: () => Promise<string>;
  /** Ends what the judge keeps running between votes. */
  readonly close?: () => Promise<void>;
};
