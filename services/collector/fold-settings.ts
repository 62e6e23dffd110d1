import type {
  DistillationForm,
  LearningMethod,
  TrainingSettings,
} from '../../shared/events/training-settings.ts';

/** Settings of `attribute`. */
export type AttributeSettings = {
  /** discount of returns along the conversation tree of a session settled by reward; default 1 */
  readonly turnDiscount?: number;
  /**
   * Feedback completes its turn at once, and so does a request that replaces the turn's own. Absent (logs of
   * earlier programs): both wait for the next state.
   */
  readonly atOnce?: boolean;
  /**
   * A first request that a person edited and sent again belongs to the conversation of the original. Absent
   * (logs of earlier programs): it begins a conversation. Requires `atOnce`.
   */
  readonly firstEdits?: boolean;
  /**
   * Recognise the marks and prompts of agent programs other than OpenClaw, and find a session by an answer
   * alone. Absent (logs of earlier programs): neither.
   */
  readonly clients?: boolean;
  /**
   * In a session settled by reward, a request is main unless its program declares it side. Absent (logs of
   * earlier programs): the text rules apply there, too.
   */
  readonly rewardedAreMain?: boolean;
  /** Emit `session.opened` for each epoch. Absent (logs of earlier programs): do not. */
  readonly tellsOpened?: boolean;
  /** Name the version of an answer that is cut off or empty. Absent (logs of earlier programs): do not. */
  readonly namesVersion?: boolean;
  /** Each change of a request refuses the latest answer. Absent (logs of earlier programs): only the first change does. */
  readonly laterEdits?: boolean;
  /**
   * In a history that its client changed, only the last answer is recognised alone. Absent (logs of earlier programs):
   * the latest answer that is long enough, although what follows it may be another answer.
   */
  readonly lastAnswerAlone?: boolean;
  /**
   * Keep the deletion of an answer that has not come for a week. Absent (logs of earlier programs): for a day, like
   * other ids.
   */
  readonly keepsDeletions?: boolean;
};

/** Settings of `assemble`. */
export type AssembleSettings = {
  /** a session without an effective sample contributes its most informative turn */
  readonly atLeastOne: boolean;
  /** decides which samples are effective; default binary */
  readonly method?: LearningMethod;
  /** Later evidence on a turn makes another sample of it. Absent (logs of earlier programs): it does not. */
  readonly revises?: boolean;
  /**
   * A withdrawal is passed on although no sample of the turn is left, since a sample in a batch may train again. Absent
   * (logs of earlier programs): it is not.
   */
  readonly withdrawsSpent?: boolean;
  /** A closed session sweeps settled turns, too. Absent (logs of earlier programs): only the next settled turn does. */
  readonly sweepsAtClose?: boolean;
  /**
   * discount of a person's verdict for each tool call that it is carried back over; absent: not carried back
   */
  readonly carryDiscount?: number;
  /**
   * Samples say when the person reacted, and a thumb up withdraws all samples of its turn. Absent (logs of earlier
   * programs): neither.
   */
  readonly datesSamples?: boolean;
  /** A revised verdict is carried back, too. Absent (logs of earlier programs): only the first one is. */
  readonly carriesRevised?: boolean;
  /** Emit `verdict.recorded` for each judged turn. Absent (logs of earlier programs): do not. */
  readonly recordsVerdicts?: boolean;
  /** for adapters with a method other than `method` */
  readonly adapterMethods?: Readonly<Record<string, LearningMethod>>;
};

/** When verdicts roll a version back. */
export type WatchSettings = {
  /** largest chance per promotion that a version is rolled back although it is not worse */
  readonly alpha: number;
  /** a rate of bad verdicts that is higher by this much is not yet worse */
  readonly margin: number;
  /** automatic rollbacks within twenty batches after which learning pauses */
  readonly pauseAfter: number;
};

/** When verdicts decide about a canary. `alpha`: for each of its two endings, the chance that it is wrong. */
export type CanarySettings = {
  readonly alpha: number;
  readonly margin: number;
  readonly turns: number;
  readonly hours: number;
  /** An event that is appended before the start shows that a clock was ahead, and becomes the start. Absent: it does not. */
  readonly correctsStart?: boolean;
};

/** Settings of `submit`. */
export type SubmitSettings = {
  /** samples per batch */
  readonly size: number;
  /** largest batch, used when waiting samples would otherwise become too stale; default `size` */
  readonly most?: number;
  /** steps along the lineage that a sample may be behind the head */
  readonly maxStaleness: number;
  /** largest share of a batch for one session or one access key while others have samples; default 0.5 */
  readonly share?: number;
  readonly training: TrainingSettings;
  /** corrections without a change after which a wish is set aside; absent: never, and wishes are not tracked */
  readonly wishPatience?: number;
  /** Samples take earlier wishes of their person. Absent (logs of earlier programs): they do not. */
  readonly standingWishes?: boolean;
  /**
   * How verdicts enter the record of wishes. 2: only those that a person gave on the answer itself; each refuted
   * correction is taken back; a correction that was judged late does not date its wish back. Absent (logs of earlier
   * programs): verdicts on calls of tools count too, only the latest correction is taken back, and the last judged one
   * dates the wish.
   */
  readonly wishRules?: 2;
  /**
   * least share of the base in the teacher while stated wishes keep contradicting earlier ones; absent (logs of earlier
   * programs): contradictions are not counted. Requires `wishPatience`.
   */
  readonly conflictAnchor?: number;
  /** factor on the learning rate meanwhile; absent (logs of earlier programs): 1. Requires `wishPatience`. */
  readonly conflictRate?: number;
  /** Verdicts roll a version back. Absent (logs of earlier programs): they do not. */
  readonly watch?: WatchSettings;
  /** Used while a candidate is on canary. Absent (logs of earlier programs): the defaults of the settings. */
  readonly canary?: CanarySettings;
  /** for adapters with a method other than that in `training` */
  readonly adapterMethods?: Readonly<Record<string, LearningMethod>>;
  /** for adapters with a distillation other than that in `training` */
  readonly adapterDistillation?: Readonly<Record<string, DistillationForm>>;
};

/** The training settings of an adapter. */
export const trainingOf = (
  { training, adapterMethods, adapterDistillation }: SubmitSettings,
  adapter: string,
): TrainingSettings => ({
  ...training,
  method: adapterMethods?.[adapter] ?? training.method,
  distillation: adapterDistillation?.[adapter] ?? training.distillation,
});

/** Undefined: the wishes of the adapter are not tracked. Method opd learns from hints alone. */
export const wishPatienceOf = (settings: SubmitSettings, adapter: string): number | undefined =>
  trainingOf(settings, adapter).method === 'opd' ? undefined : settings.wishPatience;
