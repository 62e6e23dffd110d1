import type { SampleReady } from '../../shared/events/sample-ready.ts';
import type { TrainingSettings } from '../../shared/events/training-settings.ts';
import type { Draft } from '../../shared/log/rows.ts';
import { contradict } from '../../shared/wishes/wish-id.ts';
import { type SubmitSettings, trainingOf, wishPatienceOf } from './fold-settings.ts';
import { namedWishes } from './wish-record.ts';

/** `conflict/now`: whether the people of an adapter keep asking for the opposite of what was asked before. */
type ConflictRow = {
  /** the latest wishes of all people, without those that a later one contradicts */
  readonly wishes: readonly string[];
  /** the latest samples, oldest first: `!` stated a wish that contradicts an earlier one, `.` did not */
  readonly course: string;
};

const emptyRow: ConflictRow = { wishes: [], course: '' };

/** Samples that are remembered. A person who changes their mind now and then contradicts themselves once in them. */
const REMEMBERED = 24;
/** Contradictions among them from which on wishes are in conflict. */
const IN_CONFLICT = 3;
/** Most wishes that are remembered. */
const MOST_WISHES = 24;

/**
 * Notes whether a sample states a wish that contradicts an earlier one. A sample without an opinion is not counted, and
 * a repeated hint is no new opinion.
 *
 * @param outdated its wishes that a later complaint, which arrived before, contradicts
 */
export function noteConflict(
  draft: Draft,
  { data, subject }: SampleReady,
  settings: SubmitSettings,
  outdated: readonly string[] = [],
): void {
  if (!isCounted(settings, subject) || data.repeats) return;
  const named = namedWishes(data, settings.wishRules);
  if (named === undefined) return;
  const table = draft.table<ConflictRow>('conflict');
  const { wishes, course } = table.get('now') ?? emptyRow;
  // An inferred wish was not stated, and contradicts nothing.
  const stated = data.inferred ? [] : named.filter((wish) => !outdated.includes(wish));
  const earlier = wishes.filter((wish) => !stated.includes(wish));
  const kept = earlier.filter((wish) => !stated.some((other) => contradict(other, wish)));
  const mark = kept.length < earlier.length || outdated.length > 0 ? '!' : '.';
  table.set('now', {
    wishes: [...kept, ...stated].slice(-MOST_WISHES),
    course: `${course}${mark}`.slice(-REMEMBERED),
  });
}

/** Contradictions are counted only for the settings that depend on them, and while wishes are tracked. */
const isCounted = (settings: SubmitSettings, adapter: string): boolean =>
  wishPatienceOf(settings, adapter) !== undefined &&
  (settings.conflictAnchor !== undefined || settings.conflictRate !== undefined);

/**
 * Training settings of a batch. While wishes are in conflict nobody is ever satisfied, so every answer is corrected.
 * Lessons that overshoot cost answers their subject then, and what each step spoils by chance adds up.
 *
 * A count that is no longer kept holds for ever, so it does not lower the rate. The anchor follows it all the same, as
 * in logs of earlier programs.
 */
export function withConflict(draft: Draft, settings: SubmitSettings, adapter: string): TrainingSettings {
  const training = trainingOf(settings, adapter);
  const { conflictAnchor = 0, conflictRate = 1 } = settings;
  const { course } = draft.table<ConflictRow>('conflict').get('now') ?? emptyRow;
  if (course.split('!').length - 1 < IN_CONFLICT) return training;
  return {
    ...training,
    teacherAnchor: Math.max(training.teacherAnchor, conflictAnchor),
    learningRate: (isCounted(settings, adapter) ? conflictRate : 1) * training.learningRate,
  };
}
