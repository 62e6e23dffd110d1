import type { TrainingSettings } from '../../shared/events/training-settings.ts';
import type { GateResult } from '../../shared/policy/checkpoint-store-state.ts';
import type { CanaryFigures } from './canaries.ts';

/** By how much answers may be worse than the base's; undefined: not looked at. */
export type Tolerances = Pick<TrainingSettings, 'gateContent' | 'gateCollapse' | 'gateSteerability'>;

type Refusal = Extract<GateResult, { passed: false }>;
type Figure = keyof CanaryFigures;
type Bound = {
  readonly figure: Figure;
  readonly limit: number;
  /** whether the figure must not rise above the limit, or not fall below it */
  readonly side: 'above' | 'below';
};

/** Probability that makes a base a judge of what an answer is about; by chance it is 1 / 3. */
const SURE = 2 / 3;
/** A taste may make answers surer or less sure, but not by so much. */
const ENTROPY_FACTOR = 5;
/** An answer of fewer tokens says nothing. */
const SHORTEST = 3;

export const looksAtCanaries = ({ gateContent, gateCollapse, gateSteerability }: Tolerances): boolean =>
  gateContent !== undefined || gateCollapse !== undefined || gateSteerability !== undefined;

/**
 * Why a candidate's answers forbid to serve it; undefined: they do not. What is beyond a limit passes where the
 * parent was farther beyond it: that is the way back.
 *
 * @param parent asked for only where something is beyond its limit
 */
export function canaryRefusal(
  candidate: CanaryFigures,
  base: CanaryFigures,
  parent: () => CanaryFigures,
  tolerances: Tolerances,
): Refusal | undefined {
  for (const [reason, bounds] of boundsOf(base, tolerances))
    for (const { figure, limit, side } of bounds) {
      const sign = side === 'above' ? 1 : -1;
      const [value, before] = [candidate[figure], () => parent()[figure]];
      if (sign * (value - limit) <= 0 || sign * (value - before()) < 0) continue;
      return {
        passed: false,
        reason,
        detail: `${names[figure]} of the canaries' answers is ${shown(value)}, the limit is ${shown(limit)}; the base's is ${shown(base[figure])}, the parent's ${shown(before())}`,
        figures: { [figure]: value, limit, base: base[figure], parent: before() },
      };
    }
  return undefined;
}

function boundsOf(
  base: CanaryFigures,
  { gateContent, gateCollapse, gateSteerability }: Tolerances,
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
            // a taste for long answers may keep all from ending within the tokens that are sampled
            below('ended', base.ended - 2 * gateCollapse),
            below('length', Math.min(base.length, SHORTEST)),
            below('entropy', base.entropy / ENTROPY_FACTOR),
            above('entropy', base.entropy * ENTROPY_FACTOR),
          ],
    ],
    [
      'content',
      gateContent === undefined
        ? []
        : [
            // a base that cannot tell its own answers apart cannot tell others'
            ...(base.content < SURE ? [] : [below('content', base.content - gateContent)]),
            above('absurd', base.absurd + gateContent / 2),
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
  absurd: 'the share of tokens that the base finds absurd',
  steered: 'the share that meet a wish in the request',
};

const shown = (value: number): string => value.toPrecision(3);
