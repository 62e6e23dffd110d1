import { BatchRequested } from './batch-requested.ts';
import { BatchReturned } from './batch-returned.ts';
import { BatchSubmitted } from './batch-submitted.ts';
import { EnvironmentActed } from './environment-acted.ts';
import { EnvironmentEvaluated } from './environment-evaluated.ts';
import { EnvironmentFailed } from './environment-failed.ts';
import { EnvironmentLeased } from './environment-leased.ts';
import { EnvironmentReady } from './environment-ready.ts';
import { EnvironmentReleased } from './environment-released.ts';
import { EnvironmentRenewed } from './environment-renewed.ts';
import { EventRejected } from './event-rejected.ts';
import { FeedbackGiven } from './feedback-given.ts';
import { HintCast } from './hint-cast.ts';
import { InteractionCompleted } from './interaction-completed.ts';
import { InteractionFailed } from './interaction-failed.ts';
import { InteractionWithdrawn } from './interaction-withdrawn.ts';
import { JudgmentReached } from './judgment-reached.ts';
import { JudgmentRevised } from './judgment-revised.ts';
import { LaneForgotten } from './lane-forgotten.ts';
import { LearningPaused } from './learning-paused.ts';
import { LearningResumed } from './learning-resumed.ts';
import { LogTrimmed } from './log-trimmed.ts';
import { PolicyCanaryExpired } from './policy-canary-expired.ts';
import { PolicyCanaryStarted } from './policy-canary-started.ts';
import { PolicyLoaded } from './policy-loaded.ts';
import { PolicyPromoted } from './policy-promoted.ts';
import { PolicyRejected } from './policy-rejected.ts';
import { PolicyRolledBack } from './policy-rolled-back.ts';
import { PolicyTrained } from './policy-trained.ts';
import { PolicyUpdateFailed } from './policy-update-failed.ts';
import { ResponseDeleted } from './response-deleted.ts';
import { SampleDropped } from './sample-dropped.ts';
import { SampleReady } from './sample-ready.ts';
import { SampleWithdrawn } from './sample-withdrawn.ts';
import { SessionClosed } from './session-closed.ts';
import { SessionEnded } from './session-ended.ts';
import { SessionOpened } from './session-opened.ts';
import { SessionStarted } from './session-started.ts';
import { TurnCompleted } from './turn-completed.ts';
import { TurnContinued } from './turn-continued.ts';
import { TurnFeedback } from './turn-feedback.ts';
import { TurnSkipped } from './turn-skipped.ts';
import { TurnWithdrawn } from './turn-withdrawn.ts';
import { TurnsForgotten } from './turns-forgotten.ts';
import { VerdictRecorded } from './verdict-recorded.ts';
import { VoteCast } from './vote-cast.ts';
import { VoteExpired } from './vote-expired.ts';
import { VoteFailed } from './vote-failed.ts';
import { WishSetAside } from './wish-set-aside.ts';
import { WishTakenUp } from './wish-taken-up.ts';
import { WordsErased } from './words-erased.ts';

/** All events, in the order in which a message meets them on its way to training. */
export const catalogue = [
  InteractionCompleted,
  InteractionFailed,
  ResponseDeleted,
  InteractionWithdrawn,
  FeedbackGiven,
  SessionStarted,
  EnvironmentLeased,
  EnvironmentReady,
  EnvironmentActed,
  EnvironmentRenewed,
  EnvironmentEvaluated,
  EnvironmentFailed,
  EnvironmentReleased,
  SessionEnded,
  LaneForgotten,
  WordsErased,
  TurnCompleted,
  TurnContinued,
  TurnSkipped,
  TurnFeedback,
  TurnWithdrawn,
  TurnsForgotten,
  SessionOpened,
  SessionClosed,
  VoteCast,
  HintCast,
  VoteExpired,
  VoteFailed,
  JudgmentReached,
  JudgmentRevised,
  VerdictRecorded,
  SampleReady,
  SampleDropped,
  SampleWithdrawn,
  WishSetAside,
  WishTakenUp,
  BatchSubmitted,
  BatchRequested,
  BatchReturned,
  LearningPaused,
  LearningResumed,
  PolicyTrained,
  PolicyCanaryExpired,
  PolicyCanaryStarted,
  PolicyPromoted,
  PolicyRejected,
  PolicyUpdateFailed,
  PolicyRolledBack,
  PolicyLoaded,
  LogTrimmed,
  EventRejected,
] as const;

export type ClawLoopEvent =
  | InteractionCompleted
  | InteractionFailed
  | ResponseDeleted
  | InteractionWithdrawn
  | FeedbackGiven
  | SessionStarted
  | EnvironmentLeased
  | EnvironmentReady
  | EnvironmentActed
  | EnvironmentRenewed
  | EnvironmentEvaluated
  | EnvironmentFailed
  | EnvironmentReleased
  | SessionEnded
  | LaneForgotten
  | WordsErased
  | TurnCompleted
  | TurnContinued
  | TurnSkipped
  | TurnFeedback
  | TurnWithdrawn
  | TurnsForgotten
  | SessionOpened
  | SessionClosed
  | VoteCast
  | HintCast
  | VoteExpired
  | VoteFailed
  | JudgmentReached
  | JudgmentRevised
  | VerdictRecorded
  | SampleReady
  | SampleDropped
  | SampleWithdrawn
  | WishSetAside
  | WishTakenUp
  | BatchSubmitted
  | BatchRequested
  | BatchReturned
  | LearningPaused
  | LearningResumed
  | PolicyTrained
  | PolicyCanaryExpired
  | PolicyCanaryStarted
  | PolicyPromoted
  | PolicyRejected
  | PolicyUpdateFailed
  | PolicyRolledBack
  | PolicyLoaded
  | LogTrimmed
  | EventRejected;
