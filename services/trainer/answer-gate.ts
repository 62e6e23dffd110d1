import type { TrainingSettings } from '../../shared/events/training-settings.ts';
import type { GateResult } from '../../shared/policy/checkpoints/state.ts';
import type { AnswerFigures } from './answer-figures.ts';

/** By how much answers may be worse than the base's; undefined: not checked. */
export type Tolerances = Pick<
  TrainingSettings,
  'gateContent' | 'gateAbsurd' | 'gateCollapse' | 'gateSteerability'
>;

type Refusal = Extract<GateResult, { passed: false }>;
type Figure = keyof AnswerFigures;
type Bound = {
  readonly figure: Figure;
  readonly limit: number;
  /** the side of the limit on which the figure is refused */
  readonly side: 'above' | 'below';
  /** A candidate as far beyond the limit as its parent passes: so few answers are counted that a step often changes nothing. */
  readonly passesAsParent?: true;
};

/** Probability from which on the base can judge the subject of an answer; chance is 1 / 3. */
const LEAST_BASE_CONTENT = 2 / 3;
/** The same for the person's prompts, to some of which the base itself may have no answer. */
const LEAST_OWN_CONTENT = 1 / 2;
/** The person's prompts are fewer and less plain than the shipped ones, so their figure varies more. */
const OWN_FACTOR = 2;
/** Factor by which entropy may change; a person's taste changes it less. */
const ENTROPY_FACTOR = 5;
/** Tokens below which an answer is empty of content. */
const SHORTEST = 3;

export const checksAnswers = ({
  gateContent,
  gateAbsurd,
  gateCollapse,
  gateSteerability,
}: Tolerances): boolean =>
  [gateContent, gateAbsurd, gateCollapse, gateSteerability].some((most) => most !== undefined);

/**
 * Why a candidate's answers forbid serving it; undefined: they do not. A figure beyond its limit passes if the
 * parent's was even farther beyond it, or with `passesAsParent` as far, so that a policy can recover.
 *
 * @param parent called only if a figure is beyond its limit
 */
export function answerRefusal(
  candidate: AnswerFigures,
  base: AnswerFigures,
  parent: () => AnswerFigures,
  tolerances: Tolerances,
): Refusal | undefined {
  for (const [reason, bounds] of boundsOf(base, tolerances))
    for (const { figure, limit, side, passesAsParent } of bounds) {
      const sign = side === 'above' ? 1 : -1;
      const [value, atBase] = [candidate[figure], base[figure]];
      if (value === undefined || atBase === undefined) continue;
      const before = () => parent()[figure] ?? atBase;
      if (sign * (value - limit) <= 0) continue;
      const worsening = sign * (value - before());
      if (worsening < 0 || (worsening === 0 && passesAsParent)) continue;
      return {
        passed: false,
        reason,
        detail: `${names[figure]} of the candidate's answers is ${shown(value)}, the limit is ${shown(limit)}; the base's is ${shown(atBase)}, the parent's ${shown(before())}`,
        figures: { [figure]: value, limit, base: atBase, parent: before() },
      };
    }
  return undefined;
}

function boundsOf(
  base: AnswerFigures,
  { gateContent, gateAbsurd, gateCollapse, gateSteerability }: Tolerances,
): readonly (readonly [Refusal['reason'], readonly Bound[]])[] {
  const below = (figure: Figure, limit: number): Bound => ({ figure, limit, side: 'below' });
  const above = (figure: Figure, limit: number): Bound => ({ figure, limit, side: 'above' });
  return [
    [
      'collapse',
      gateCollapse === undefined
        ? []
        : [
            below('distinct', base.distinct - gateCollapse),
            above('repetition', base.repetition + gateCollapse),
            // A taste for long answers may keep all of them from ending within the sampled tokens.
            below('ended', base.ended - 2 * gateCollapse),
            below('length', Math.min(base.length, SHORTEST)),
            below('entropy', base.entropy / ENTROPY_FACTOR),
            above('entropy', base.entropy * ENTROPY_FACTOR),
          ],
    ],
    [
      'content',
      [
        ...(gateContent === undefined
          ? []
          : [
              // A base that cannot tell its own answers apart cannot judge others.
              ...(base.content < LEAST_BASE_CONTENT ? [] : [below('content', base.content - gateContent)]),
              ...(base.ownContent === undefined || base.ownContent < LEAST_OWN_CONTENT
                ? []
                : [below('ownContent', base.ownContent - OWN_FACTOR * gateContent)]),
              above('absurd', base.absurd + gateContent / 2),
            ]),
        ...(gateAbsurd === undefined || base.absurdAnswers === undefined
          ? []
          : [{ ...above('absurdAnswers', base.absurdAnswers + gateAbsurd), passesAsParent: true as const }]),
      ],
    ],
    [
      'steerability',
      gateSteerability === undefined ? [] : [below('steered', base.steered - gateSteerability)],
    ],
  ];
}

const names: Readonly<Record<Figure, string>> = {
  distinct: 'the share of different ones',
  ended: 'the share that came to an end',
  length: 'the mean number of tokens',
  entropy: 'the mean surprise of the tokens (nats)',
  repetition: 'the share of repeated runs of tokens',
  klToBase: 'the KL to the base (nats per token)',
  content: 'the probability that the base finds their request again',
  ownContent: 'the probability that the base finds their prompt again among the prompts of the person',
  absurd: 'the share of tokens that the base finds absurd',
  absurdAnswers: 'the share with a token that the base finds absurd',
  steered: 'the share that meet a wish in the request',
};

const shown = (value: number): string => value.toPrecision(3);
