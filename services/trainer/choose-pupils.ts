import type { SampleReady } from '../../shared/events/sample-ready.ts';
import type { TrainingSettings } from '../../shared/events/training-settings.ts';
import { defined } from '../../shared/lang/defined.ts';
import { sum } from '../../shared/lang/numbers.ts';
import type { PolicySequence } from '../../shared/policy/train/batching.ts';
import { wishesIn } from '../../shared/wishes/wishes.ts';
import { checkKnownHint, keepsContent } from './hint-trust.ts';
import { hintedPrompts, type NoTeacher } from './hinted-prompt.ts';
import type { StepSample } from './step-sample.ts';
import type { Pupil } from './teach-tokens.ts';
import type { Teacher } from './teacher.ts';
import type { ModelHere, Trainee } from './trainee.ts';

export type Chosen = {
  readonly pupils: readonly Pupil[];
  /** number of samples without a teacher, by reason */
  readonly without: Readonly<Record<NoTeacher, number>>;
  /** number of wishes and free-form hints that do not teach, by reason */
  readonly distrusted: Readonly<Record<Distrust, number>>;
};

type RecordedSamples = readonly (readonly [StepSample, SampleReady['data']])[];
type Settings = Pick<TrainingSettings, 'rules' | 'teacher' | 'distillation' | 'hintCheck' | 'ownWordsWeight'>;

/** Most hints per sample that `overlap` compares, because each costs another pass of the teacher. */
const MOST_HINTS = 3;

/** Nats by which a criticised answer as a whole must become less likely under a hint. */
const LEAST_DROP = 1;

/**
 * Why a hint does not teach. backwards: it has the opposite effect. without-effect: it has no measurable
 * effect. loses-content: the model takes it for another request.
 */
type Distrust = 'backwards' | 'without-effect' | 'loses-content';

export const noneWithout: Chosen['without'] = {
  'no-hint': 0,
  'template-drift': 0,
  'no-request': 0,
  'too-long': 0,
  distrusted: 0,
};
export const noneDistrusted: Chosen['distrusted'] = {
  backwards: 0,
  'without-effect': 0,
  'loses-content': 0,
};

/**
 * Chooses the samples whose hints teach. A hint outweighs a verdict many times, and a small model reads some
 * sentences as their opposite, so each hint must first show that it has the intended effect. The hint of a
 * known wish shows it by the answers that it produces. A free-form hint shows it by the criticised answer,
 * which must become less likely under it, while the base must still answer the request. Without a model here,
 * no hint is checked by answers, and all are in doubt.
 */
export async function choosePupils(
  trainee: Pick<Trainee, 'writePrompt' | 'contextTokens' | 'parts' | 'here'>,
  settings: Settings,
  teacher: Pick<Teacher, 'score'>,
  samples: RecordedSamples,
): Promise<Chosen> {
  const without = { ...noneWithout };
  const distrusted = { ...noneDistrusted };
  const pupils: Pupil[] = [];
  const inDoubt = new Set<Pupil>();
  for (const [sample, record] of samples) {
    const checked = settings.hintCheck
      ? checkHints(trainee.here, settings, record.hints)
      : unchecked(record.hints);
    distrusted.backwards += checked.backwards;
    distrusted['loses-content'] += checked.losesContent;
    if (checked.hints.length === 0 && record.hints.length > 0) {
      without.distrusted += 1;
      continue;
    }
    const most = settings.distillation === 'overlap' ? MOST_HINTS : 1;
    const hinted = hintedPrompts({ ...record, hints: checked.hints }, trainee, most);
    if (hinted.kind !== 'hinted') without[hinted.kind] += 1;
    else if (sample.behavior.length > 0) {
      const pupil = { sample, prompts: hinted.prompts, weight: checked.isOwn ? settings.ownWordsWeight : 1 };
      pupils.push(pupil);
      // A praised answer need not become less likely.
      if (checked.inDoubt && record.verdict <= 0) inDoubt.add(pupil);
    }
  }
  const taught: Pupil[] = [];
  for (const { pupil, plain, drops } of await dropsOf(trainee, teacher, {
    pupils,
    inDoubt,
    rules: settings.rules,
  })) {
    const isRefuted = (drop = LEAST_DROP) => !(drop >= LEAST_DROP);
    for (const drop of drops.filter((value) => isRefuted(value)))
      distrusted[drop < 0 ? 'backwards' : 'without-effect'] += 1;
    const prompts = pupil.prompts.filter((_, index) => !isRefuted(drops[index] ?? drops[0]));
    if (prompts.length === 0) without.distrusted += 1;
    else taught.push({ ...pupil, prompts, ...defined({ plain }) });
  }
  return { pupils: taught, without, distrusted };
}

type CheckedHints = {
  readonly hints: readonly string[];
  /** wishes that the base reads as their opposite */
  readonly backwards: number;
  /** free-form hints that the base takes for another request */
  readonly losesContent: number;
  /** free-form: none of the hints is a known wish */
  readonly isOwn: boolean;
  readonly inDoubt: boolean;
};

const unchecked = (hints: readonly string[]): CheckedHints => ({
  hints,
  backwards: 0,
  losesContent: 0,
  isOwn: false,
  inDoubt: false,
});

/** Checks a sample's hints against the base. Free-form hints teach only if there is no known wish. */
function checkHints(
  here: ModelHere | undefined,
  { teacher }: Settings,
  hints: readonly string[],
): CheckedHints {
  // The base's reading of a hint says nothing about another model.
  const engine = teacher === 'current' || teacher === 'base' ? here?.engine : undefined;
  const known = hints.filter((hint) => wishesIn(hint).length > 0);
  if (known.length === 0) {
    const read = engine === undefined ? hints : hints.filter((hint) => keepsContent(engine, hint) !== false);
    const losesContent = hints.length - read.length;
    return { hints: read, backwards: 0, losesContent, isOwn: true, inDoubt: true };
  }
  if (engine === undefined) return { ...unchecked(known), inDoubt: true };
  const checks = known.map((hint) => checkKnownHint(engine, hint));
  const left = checks.filter(({ hint }) => hint !== undefined);
  const sure = left.filter(({ inDoubt }) => !inDoubt);
  return {
    hints: (sure.length > 0 ? sure : left).flatMap(({ hint }) => hint ?? []),
    backwards: checks.reduce((sum, check) => sum + check.backwards, 0),
    losesContent: 0,
    isOwn: false,
    inDoubt: sure.length === 0,
  };
}

/** How the teacher's probability of a pupil's answer changes with its hints. */
type HintDrops = {
  readonly pupil: Pupil;
  /** log-probs of the answer without a hint, [T]; undefined: not needed */
  readonly plain: ArrayLike<number> | undefined;
  /**
   * by how much each hint makes the answer less likely, nats; empty: the hints are not in doubt. A single value
   * applies to all hints.
   */
  readonly drops: readonly number[];
};

/** Under rules before the third, only the first hint is checked, and the others follow its result. */
async function dropsOf(
  trainee: Pick<Trainee, 'parts'>,
  teacher: Pick<Teacher, 'score'>,
  {
    pupils,
    inDoubt,
    rules,
  }: {
    readonly pupils: readonly Pupil[];
    readonly inDoubt: ReadonlySet<Pupil>;
    readonly rules: number;
  },
): Promise<readonly HintDrops[]> {
  const asked = pupils.map((pupil) => ({ pupil, hints: hintsToAsk(pupil, inDoubt, rules) }));
  const sequences = asked.flatMap(({ pupil: { sample }, hints }): readonly PolicySequence[] =>
    hints === undefined
      ? []
      : [sample.sequence, ...hints.map((promptIds) => ({ ...sample.sequence, promptIds }))],
  );
  const rows: ArrayLike<number>[] = [];
  for (const members of trainee.parts(sequences)) {
    const scored = await teacher.score(members.map((index) => sequences[index]!));
    members.forEach((index, member) => {
      rows[index] = scored[member]!;
    });
  }
  let read = 0;
  return asked.map(({ pupil, hints }): HintDrops => {
    if (hints === undefined) return { pupil, plain: undefined, drops: [] };
    const [plain, ...hinted] = rows.slice(read, read + 1 + hints.length);
    read += 1 + hints.length;
    if (!inDoubt.has(pupil)) return { pupil, plain, drops: [] };
    return { pupil, plain, drops: hinted.map((row) => sum(Array.from(plain!)) - sum(Array.from(row))) };
  });
}

/** The hinted prompts to score; undefined: the answer need not be scored at all. */
function hintsToAsk(
  pupil: Pupil,
  inDoubt: ReadonlySet<Pupil>,
  rules: number,
): readonly (readonly number[])[] | undefined {
  if (!inDoubt.has(pupil) && (pupil.weight ?? 1) >= 1) return undefined;
  if (rules < 3) return pupil.prompts.slice(0, 1);
  return inDoubt.has(pupil) ? pupil.prompts : [];
}
