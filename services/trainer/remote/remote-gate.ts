import { sum } from '../../../shared/lang/numbers.ts';
import { klLoss } from '../../../shared/policy/losses/kl.ts';
import { checksAnswers } from '../answer-gate.ts';
import { type GatedStep, type GateSettings, refusal } from '../gate.ts';
import type { LogProbs } from '../learning-engine.ts';

/** Log-probs of the batch's answers, nats, [N][T]. */
export type GateLogProbs = {
  readonly start: LogProbs;
  readonly candidate: LogProbs;
  /** undefined: the settings have no bound, or the start is the base */
  readonly base: LogProbs | undefined;
};

/**
 * Whether a step on a server is close enough to its parent and the base. A server has no distances over the vocabulary.
 * They are estimated from the batch's answers, which the parent, or a recent version, sampled: the unbiased estimate
 * that is never negative (k3, Schulman 2020), of KL(parent || candidate) and KL(candidate || base). Answers are not
 * checked, since nothing is sampled during a step.
 */
export function gateBySamples({ start, candidate, base }: GateLogProbs, settings: GateSettings): GatedStep {
  const meanKl = meanK3(start, candidate);
  const klToBase = base === undefined ? meanKl : meanK3(candidate, base);
  const parentKl = () => (base === undefined ? 0 : meanK3(start, base));
  const refused = refusal({ meanKl, klToBase }, settings, parentKl);
  const distances = { meanKlSampled: meanKl, klToBaseSampled: klToBase };
  const common = { distances, candidateScale: 1 };
  if (refused !== undefined) {
    const detail = `${refused.detail}, as estimated from the batch's answers`;
    return { ...common, gate: { ...refused, detail }, stepScale: 0 };
  }
  const unchecked = checksAnswers(settings) ? { answersChecked: false as const } : {};
  return { ...common, gate: { passed: true, ...unchecked }, stepScale: 1 };
}

/** Mean over all tokens of the estimate of KL(of || to), nats. */
function meanK3(of: LogProbs, to: LogProbs): number {
  const tokens = sum(of.map(({ length }) => length));
  const shares = of.map(({ length }) => new Float64Array(length).fill(1 / tokens));
  return klLoss(of, to, shares, 'k3').loss;
}
