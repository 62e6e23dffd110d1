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
type Settings = Pick<TrainingSettings, 'rules' | 'teacher' | 'distillation' | 'hintCheck' | 'ownWordsWeight'>;

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
 * criticise, which has to become less likely under them, while the base still answers what it is asked. Each hint
 * shows it for itself.
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
  const taught: Pupil[] = [];
  for (const { pupil, plain, drops } of dropsOf(engine, teacher, pupils, inDoubt, settings)) {
    const isRefuted = (drop = LEAST_DROP) => !(drop >= LEAST_DROP);
    for (const drop of drops.filter((one) => isRefuted(one)))
      distrusted[drop < 0 ? 'backwards' : 'without-effect'] += 1;
    const prompts = pupil.prompts.filter((_, index) => !isRefuted(drops[index] ?? drops[0]));
    if (prompts.length === 0) without.distrusted += 1;
    else taught.push({ ...pupil, prompts, ...(plain === undefined ? {} : { plain }) });
  }
  return { pupils: taught, without, distrusted };
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

/** What the teacher makes of a pupil's answer. */
type Asked = {
  readonly pupil: Pupil;
  /** log-probs of the answer without a hint, [T]; undefined: nobody asked */
  readonly plain: ArrayLike<number> | undefined;
  /**
   * by how much the answer is less likely with each of its hints, nats; empty: they are in no doubt. One that was
   * asked alone speaks for all.
   */
  readonly drops: readonly number[];
};

/** Batches of earlier rules ask with the first hint alone, and the others teach or not as that one does. */
function dropsOf(
  engine: LearningEngine,
  teacher: Pick<Teacher, 'score'>,
  pupils: readonly Pupil[],
  inDoubt: ReadonlySet<Pupil>,
  { rules }: Settings,
): readonly Asked[] {
  const asked = pupils.map((pupil) => ({ pupil, hints: hintsToAsk(pupil, inDoubt, rules) }));
  const sequences = asked.flatMap(({ pupil: { sample }, hints }): readonly PolicySequence[] =>
    hints === undefined
      ? []
      : [sample.sequence, ...hints.map((promptIds) => ({ ...sample.sequence, promptIds }))],
  );
  const rows: ArrayLike<number>[] = [];
  for (const members of engine.parts(sequences)) {
    const scored = teacher.score(members.map((index) => sequences[index]!));
    members.forEach((index, member) => {
      rows[index] = scored[member]!;
    });
  }
  let read = 0;
  return asked.map(({ pupil, hints }): Asked => {
    if (hints === undefined) return { pupil, plain: undefined, drops: [] };
    const [plain, ...hinted] = rows.slice(read, read + 1 + hints.length);
    read += 1 + hints.length;
    if (!inDoubt.has(pupil)) return { pupil, plain, drops: [] };
    return { pupil, plain, drops: hinted.map((row) => sum(plain!) - sum(row)) };
  });
}

/** Undefined: the answer need not be read at all. */
function hintsToAsk(
  pupil: Pupil,
  inDoubt: ReadonlySet<Pupil>,
  rules: number,
): readonly (readonly number[])[] | undefined {
  if (!inDoubt.has(pupil) && (pupil.weight ?? 1) >= 1) return undefined;
  if (rules < 3) return pupil.prompts.slice(0, 1);
  return inDoubt.has(pupil) ? pupil.prompts : [];
}

const sum = (row: ArrayLike<number>): number => Array.from(row).reduce((total, value) => total + value, 0);
