import { assemble } from '../../../services/collector/assemble.ts';
import { attribute } from '../../../services/collector/attribute.ts';
import { submit } from '../../../services/collector/submit.ts';
import { judgeFold } from '../../../services/judge/judge-fold.ts';
import type { ClawLoopEvent } from '../../../shared/events/catalogue.ts';
import type { Position } from '../../../shared/events/position.ts';
import type { Folded } from '../../../shared/log/fold.ts';
import type { Rows } from '../../../shared/log/rows.ts';
import { defaultTrainingSettings } from '../../../shared/policy/train/training-defaults.ts';

export const topicNames = ['conversations', 'turns', 'training'] as const;
export type TopicName = (typeof topicNames)[number];

/**
 * What an operator may change between two starts. It takes effect at a position of the input and is committed
 * with it.
 */
export type Rules = {
  readonly votes: number;
  readonly size: number;
  readonly maxStaleness: number;
  /** 0: candidates are promoted at once */
  readonly canaryShare: number;
};
export const firstRules: Rules = { votes: 3, size: 4, maxStaleness: 2, canaryShare: 0.5 };

export type FoldName = 'attribute' | 'judge' | 'assemble' | 'submit';

/** One of the four folds, under rules that may change. */
export type HistoryFold = {
  readonly name: FoldName;
  readonly reads: TopicName;
  readonly writes: TopicName;
  readonly on: (rows: Rows, event: ClawLoopEvent, at: Position, rules: Rules) => Folded;
};

const { settings: training } = defaultTrainingSettings('claw-nano');

/** Votes are random and few, so nothing is ever clearly worse: no real bound, so that versions are rolled back now and then. */
const watch = { alpha: 20, margin: 0, pauseAfter: 2 };

/** Decides after few verdicts, for the same reason. A quarter of a day is 100 ticks. */
export const canary = { alpha: 20, margin: 0.3, turns: 6, hours: 48, correctsStart: true };

const rulesOfAttribute = {
  atOnce: true,
  firstEdits: true,
  clients: true,
  rewardedAreMain: true,
  tellsOpened: true,
  namesVersion: true,
  keepsDeletions: true,
  lastAnswerAlone: true,
  laterEdits: true,
};

export const theFolds: readonly HistoryFold[] = [
  {
    name: 'attribute',
    reads: 'conversations',
    writes: 'turns',
    on: (rows, event, at) => attribute.on(rows, event, at, rulesOfAttribute),
  },
  {
    name: 'judge',
    reads: 'turns',
    writes: 'turns',
    on: (rows, event, at, { votes }) =>
      judgeFold.on(rows, event, at, {
        votes,
        revises: true,
        sweepsAtClose: true,
        likedGivesNoHint: true,
        thumbsSettle: true,
        laterWishesClear: true,
        weakVerdict: 0.25,
      }),
  },
  {
    name: 'assemble',
    reads: 'turns',
    writes: 'training',
    on: (rows, event, at) =>
      assemble.on(rows, event, at, {
        atLeastOne: true,
        revises: true,
        withdrawsSpent: true,
        sweepsAtClose: true,
        datesSamples: true,
        carriesRevised: true,
        carryDiscount: 0.7,
        recordsVerdicts: true,
        method: 'combine',
      }),
  },
  {
    name: 'submit',
    reads: 'training',
    writes: 'training',
    on: (rows, event, at, { size, maxStaleness, canaryShare }) =>
      submit.on(rows, event, at, {
        size,
        maxStaleness,
        training: { ...training, canaryShare },
        watch,
        canary,
      }),
  },
];
