import type { SampleReady } from '../../shared/events/sample-ready.ts';
import type { TrainingSettings } from '../../shared/events/training-settings.ts';
import type { PolicySequence } from '../../shared/policy/batching.ts';
import { wishesIn } from '../../shared/wishes/wishes.ts';
import { checkKnownHint, keepsContent } from './hint-trust.ts';
import { hintedPrompts, type NoTeacher } from './hinted-prompt.ts';
import type { LearningEngine } from './learning-engine.ts';
import type { StepSample } from './step-sample.ts';
import type { Pupil } from './teach-tokens.ts';
import type { Teacher } from './teacher.ts';

export type Chosen = {
  readonly pupils: readonly Pupil[];
  /** why the others have no teacher, as counts */
  readonly without: Readonly<Record<NoTeacher, number>>;
  /** wishes and hints in own words that do not teach, as counts */
  readonly distrusted: Readonly<Record<Distrust, number>>;
};

type Told = readonly (readonly [StepSample, SampleReady['data']])[];
type Settings = Pick<TrainingSettings, 'teacher' | 'distillation' | 'hintCheck' | 'ownWordsWeight'>;

/** `overlap` compares so many hints of a sample: each is another pass of the teacher. */
const MOST_HINTS = 3;

/** Nats by which an answer that was criticised has to become less likely under a hint, as a whole. */
const LEAST_DROP = 1;

/**
 * backwards: away from what is asked for. without-effect: nowhere that could be told. loses-content: the model
 * takes it for another request.
 */
export type Distrust = 'backwards' | 'without-effect' | 'loses-content';

export const nobodyWithout: Chosen['without'] = {
  'no-hint': 0,
  'template-drift': 0,
  'no-request': 0,
  'too-long': 0,
  distrusted: 0,
};
export const nothingDistrusted: Chosen['distrusted'] = {
  backwards: 0,
  'without-effect': 0,
  'loses-content': 0,
};

/**
 * Samples whose hints are read. A hint outweighs a verdict many times, and a small model reads some sentences
 * as their contrary; so a hint has to show first that it asks for what it is meant to ask for. That of a known
 * wish shows it by the answers that it leads to; a person's own words show it by the answer that they
 * criticise, which has to become less likely under them, while the base still answers what it is asked.
 */
export function choosePupils(
  engine: LearningEngine,
  settings: Settings,
  teacher: Pick<Teacher, 'score'>,
  samples: Told,
): Chosen {
  const without = { ...nobodyWithout };
  const distrusted = { ...nothingDistrusted };
  const pupils: Pupil[] = [];
  const inDoubt = new Set<Pupil>();
  for (const [sample, record] of samples) {
    const checked = settings.hintCheck ? checkHints(engine, settings, record.hints) : asTold(record.hints);
    distrusted.backwards += checked.backwards;
    distrusted['loses-content'] += checked.losesContent;
    if (checked.hints.length === 0 && record.hints.length > 0) {
      without.distrusted += 1;
      continue;
    }
    const most = settings.distillation === 'overlap' ? MOST_HINTS : 1;
    const hinted = hintedPrompts({ ...record, hints: checked.hints }, engine, most);
    if (hinted.kind !== 'hinted') without[hinted.kind] += 1;
    else if (sample.behavior.length > 0) {
      const pupil = { sample, prompts: hinted.prompts, weight: checked.isOwn ? settings.ownWordsWeight : 1 };
      pupils.push(pupil);
      // of praise there is nothing to move away from
      if (checked.inDoubt && record.verdict <= 0) inDoubt.add(pupil);
    }
  }
  const refuted = new Set<Pupil>();
  const plain = new Map<Pupil, ArrayLike<number>>();
  for (const { pupil, drop, logProbs } of dropsOf(engine, teacher, pupils, inDoubt)) {
    plain.set(pupil, logProbs);
    if (!inDoubt.has(pupil) || drop >= LEAST_DROP) continue;
    refuted.add(pupil);
    without.distrusted += 1;
    distrusted[drop < 0 ? 'backwards' : 'without-effect'] += 1;
  }
  return {
    pupils: pupils
      .filter((pupil) => !refuted.has(pupil))
      .map((pupil) => (plain.has(pupil) ? { ...pupil, plain: plain.get(pupil)! } : pupil)),
    without,
    distrusted,
  };
}

type Checked = {
  readonly hints: readonly string[];
  /** wishes that the base reads as their contrary */
  readonly backwards: number;
  /** hints in own words that the base takes for another request */
  readonly losesContent: number;
  /** of no known wish */
  readonly isOwn: boolean;
  readonly inDoubt: boolean;
};

const asTold = (hints: readonly string[]): Checked => ({
  ...{ hints, backwards: 0, losesContent: 0, isOwn: false, inDoubt: false },
});

/** Own words teach where no known wish is told. */
function checkHints(engine: LearningEngine, { teacher }: Settings, hints: readonly string[]): Checked {
  // what the base makes of a hint says nothing of another model
  const isBase = teacher === 'current' || teacher === 'base';
  const known = hints.filter((hint) => wishesIn(hint).length > 0);
  if (known.length === 0) {
    const read = isBase ? hints.filter((hint) => keepsContent(engine, hint) !== false) : hints;
    const losesContent = hints.length - read.length;
    return { hints: read, backwards: 0, losesContent, isOwn: true, inDoubt: true };
  }
  if (!isBase) return { ...asTold(known), inDoubt: true };
  const checks = known.map((hint) => checkKnownHint(engine, hint));
  const left = checks.filter(({ hint }) => hint !== undefined);
  const sure = left.filter(({ inDoubt }) => !inDoubt);
  return {
    hints: (sure.length > 0 ? sure : left).flatMap(({ hint }) => hint ?? []),
    backwards: checks.reduce((sum, check) => sum + check.backwards, 0),
    ...{ losesContent: 0, isOwn: false },
    inDoubt: sure.length === 0,
  };
}

/** By how much each of those answers is less likely to the teacher with a hint, nats. */
function dropsOf(
  engine: LearningEngine,
  teacher: Pick<Teacher, 'score'>,
  pupils: readonly Pupil[],
  inDoubt: ReadonlySet<Pupil>,
) {
  const asked = pupils.filter((pupil) => inDoubt.has(pupil) || (pupil.weight ?? 1) < 1);
  const sequences = asked.flatMap(({ sample: { sequence }, prompts }): readonly PolicySequence[] => [
    sequence,
    { ...sequence, promptIds: prompts[0]! },
  ]);
  const rows: ArrayLike<number>[] = [];
  for (const members of engine.parts(sequences)) {
    const scored = teacher.score(members.map((index) => sequences[index]!));
    members.forEach((index, member) => {
      rows[index] = scored[member]!;
    });
  }
  return asked.map((pupil, index) => {
    const [logProbs, hinted] = [rows[2 * index]!, rows[2 * index + 1]!];
    return { pupil, logProbs, drop: sum(logProbs) - sum(hinted) };
  });
}

const sum = (row: ArrayLike<number>): number => Array.from(row).reduce((total, value) => total + value, 0);
