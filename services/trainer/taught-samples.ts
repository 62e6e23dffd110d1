import type { BatchSubmitted } from '../../shared/events/batch-submitted.ts';
import type { SampleReady } from '../../shared/events/sample-ready.ts';
import type { TrainingSettings } from '../../shared/events/training-settings.ts';
import { wishMet } from '../../shared/wishes/measure.ts';
import { hintsWithout } from '../../shared/wishes/wish-id.ts';
import { hintOf, wishKinds } from '../../shared/wishes/wishes.ts';
import { hintEffect, readingOf } from './hint-trust.ts';
import type { LearningEngine } from './learning-engine.ts';

/** An answer meets a wish from this degree on: half of a list is none. */
const MET = 0.5;

type Settings = Pick<TrainingSettings, 'teacher' | 'hintCheck'>;
type Recorded = SampleReady['data'];

/**
 * The samples of a batch with the hints that teach. Wishes that its `without` names are left out. Praise comes
 * without a hint, so it takes the standing wishes of its person: those that the answer meets, as it was praised
 * for meeting them, and that the base reads as they are meant.
 */
export function taughtSamples(
  engine: LearningEngine,
  settings: Settings,
  { samples }: Pick<BatchSubmitted['data'], 'samples'>,
  recorded: readonly Recorded[],
): readonly Recorded[] {
  return recorded.map((sample, index) => {
    const { without = [], standing = [] } = samples[index]!;
    const hints = hintsWithout(sample.hints, without);
    if (hints.length > 0 || standing.length === 0)
      return without.length === 0 ? sample : { ...sample, hints };
    const hint = standingHint(engine, settings, sample, standing);
    return hint === undefined ? sample : { ...sample, hints: [hint] };
  });
}

function standingHint(
  engine: LearningEngine,
  { teacher, hintCheck }: Settings,
  { tokens }: Recorded,
  standing: readonly string[],
): string | undefined {
  // what the base makes of a hint says nothing of another teacher
  if (engine.speech === undefined || (teacher !== 'current' && teacher !== 'base')) return undefined;
  const answer = engine.speech.read(tokens.responseIds);
  const kinds = wishKinds.filter(
    (kind) =>
      standing.includes(kind) &&
      (wishMet(kind, answer) ?? 0) > MET &&
      (!hintCheck || readingOf(hintEffect(engine, kind)) === 'as-meant'),
  );
  return kinds.length === 0 ? undefined : hintOf(kinds);
}
