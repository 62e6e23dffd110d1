import type { Disagreement } from '../events/disagreement.ts';
import type { JudgmentReached } from '../events/judgment-reached.ts';
import type { HeadState } from '../lineage/head.ts';
import type { openReturnedTurns } from './returned-turns.ts';

/** Stage of an interaction on its way to training. */
export type TurnStage =
  | { readonly kind: 'waiting-for-next-state' }
  /** settled by reward */
  | { readonly kind: 'waiting-for-end-of-session' }
  | { readonly kind: 'waiting-for-verdict' }
  | { readonly kind: 'waiting-for-session' }
  | { readonly kind: 'waiting-for-batch' }
  | { readonly kind: 'in-batch'; readonly batchId: string }
  | { readonly kind: 'trained'; readonly batchId: string; readonly version: number }
  | { readonly kind: 'not-trained'; readonly reason: string };

export type TurnView = {
  readonly turnId: string;
  readonly time: string;
  readonly lane: string;
  readonly session: string;
  readonly adapter: string;
  readonly version: number;
  readonly live: boolean;
  readonly asked: string;
  readonly answered: string;
  readonly rule: string;
  readonly disagreement: Disagreement | undefined;
  readonly score: number | null | undefined;
  readonly source: string;
  /** the person's action behind an implicit verdict */
  readonly implied?: string;
  /** a hint inferred from what the person's complaints have in common */
  readonly inferred?: string | undefined;
  /** the person's earlier wishes that its batch adds to the sample */
  readonly standing?: readonly string[] | undefined;
  /** what the person said after the answer; '' if unknown or nothing */
  readonly reaction: string;
  /** the reaction carries no verdict: the person went on or asked again */
  readonly isPlain: boolean;
  /** in a rewarded session: the reward of this turn, null if none; the score is the return */
  readonly own?: number | null;
  /** relative to other attempts at the task; replaces score minus baseline */
  readonly advantage?: number;
  /** votes on it as a step of a rewarded session */
  readonly process?: JudgmentReached['data']['process'];
  readonly votes: readonly string[];
  readonly stage: TurnStage;
};

/** What `conversations` and `turns` say about a turn, where `training` says something else. */
export type Underneath = { readonly stage?: TurnStage | undefined; readonly rule?: string | undefined };

/** What a tracker knows besides the turns. */
export type TrackerState = {
  /** samples of each open batch */
  readonly batches: readonly (readonly [batchId: string, samples: readonly string[]])[];
  /** batches that wait to train again */
  readonly returned?: ReturnType<ReturnType<typeof openReturnedTurns>['state']>;
  /** by adapter */
  readonly heads: Readonly<Record<string, HeadState>>;
};

/** The person reacted, but the judges heard neither praise nor complaint; perhaps they did not understand. */
export const isUnheard = (turn: TurnView, hasReaction = turn.reaction !== ''): boolean =>
  turn.score === 0 && turn.source === 'votes' && hasReaction && !turn.isPlain;
