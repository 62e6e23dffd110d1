import type { BatchSubmitted } from '../../shared/events/batch-submitted.ts';
import type { SampleReady } from '../../shared/events/sample-ready.ts';
import type { TrainingSettings } from '../../shared/events/training-settings.ts';
import { wishMet } from '../../shared/wishes/measure.ts';
import { hintsWithout } from '../../shared/wishes/wish-id.ts';
import { hintOf, type WishKind, wishesIn, wishKinds } from '../../shared/wishes/wishes.ts';
import { hintEffect, readingOf } from './hint-trust.ts';
import type { LearningEngine } from './learning-engine.ts';
import { readAnswer } from './own-requests.ts';

/** Degree above which an answer meets a wish. */
const MET = 0.5;

type Settings = Pick<TrainingSettings, 'method' | 'teacher' | 'hintCheck'>;
type Recorded = SampleReady['data'];

/**
 * The samples of a batch with the hints that teach. Wishes that the batch names in `without` are removed.
 * Standing wishes of the person are added if the base reads them correctly:
 *
 * - To a known wish, all of them. An anchored teacher that reads one wish alone draws the policy back to the
 *   base in all others.
 * - To praise, those that the answer meets, which may be the reason for the praise.
 * - To a complaint without a wish, all of them if the answer misses one, which may be the reason for the
 *   complaint.
 *
 * A free-form hint is not combined.
 *
 * @param engine undefined: the model is not in this process, so no standing wish is added
 */
export function taughtSamples(
  engine: LearningEngine | undefined,
  settings: Settings,
  { samples }: Pick<BatchSubmitted['data'], 'samples'>,
  recorded: readonly Recorded[],
): readonly Recorded[] {
  return recorded.map((sample, index) => {
    const { without = [], standing = [] } = samples[index]!;
    const hints = hintsWithout(sample.hints, without);
    const taught =
      standing.length === 0 ? hints : withStanding(engine, settings, { ...sample, hints }, standing);
    return taught === sample.hints ? sample : { ...sample, hints: taught };
  });
}

function withStanding(
  engine: LearningEngine | undefined,
  { method, teacher, hintCheck }: Settings,
  { hints, tokens, verdict }: Recorded,
  standing: readonly string[],
): readonly string[] {
  // The base's reading of a hint says nothing about another teacher, and method binary needs no hints.
  const isRead = method !== 'binary' && (teacher === 'current' || teacher === 'base');
  if (engine?.speech === undefined || !isRead) return hints;
  const asMeant = (kind: WishKind) => !hintCheck || readingOf(hintEffect(engine, kind)) === 'as-meant';
  const beside = wishKinds.filter((kind) => standing.includes(kind) && asMeant(kind));
  // A wish in doubt is checked by its own answer, so it is not combined.
  if (hints.length > 0)
    return hints.map((hint) => jointHint(hint, wishesIn(hint).every(asMeant) ? beside : []));
  const answer = readAnswer(engine.speech, tokens.responseIds);
  if (answer === '') return hints; // it ends within its reasoning
  const isMet = (kind: WishKind) => (wishMet(kind, answer) ?? 0) > MET;
  const kinds = verdict > 0 ? beside.filter(isMet) : beside.every(isMet) ? [] : beside;
  return kinds.length === 0 ? hints : [hintOf(kinds)];
}

function jointHint(hint: string, beside: readonly WishKind[]): string {
  const named = wishesIn(hint);
  return named.length === 0 || beside.length === 0 ? hint : hintOf([...named, ...beside]);
}
