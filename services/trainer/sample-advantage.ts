import type { SampleReady } from '../../shared/events/sample-ready.ts';
import type { TrainingSettings } from '../../shared/events/training-settings.ts';
import { defined } from '../../shared/lang/defined.ts';
import {
  advantageOf,
  type Baseline,
  type Baselines,
  baselineFor,
  boundedAdvantage,
  type EvidenceKind,
  updateBaseline,
  weakAdvantage,
} from '../../shared/policy/losses/baseline.ts';

type Judged = Pick<SampleReady['data'], 'verdict' | 'source' | 'advantage' | 'soft' | 'evidence' | 'carried'>;
type Rules = Pick<TrainingSettings, 'rules'>;

/** The baseline that a verdict is compared with. Under rules before the second, there is one for all. */
const kindOf = ({ source, evidence }: Judged, { rules }: Rules): EvidenceKind =>
  rules < 2 ? 'person' : source === 'reward' ? 'reward' : (evidence ?? 'person');

/** Whether a verdict trains: a vote of 0 does not, but a reward of 0 does. */
const saysSomething = ({ verdict, source }: Judged): boolean => verdict !== 0 || source === 'reward';

/**
 * Bounds a person's baseline from below: answers without a verdict are no worse than those that they criticise.
 */
function expectedOf(
  sample: Judged,
  baselines: Baselines,
  settings: Pick<TrainingSettings, 'leastBaseline' | 'rules'>,
): Baseline {
  const kind = kindOf(sample, settings);
  const baseline = baselineFor(baselines, kind);
  return kind === 'person'
    ? { ...baseline, value: Math.max(baseline.value, settings.leastBaseline) }
    : baseline;
}

/**
 * By how much an answer was better than expected: compared with other attempts at its task if that is recorded,
 * otherwise with the baseline of its kind. Undefined: its verdict does not train.
 */
export function sampleAdvantage(
  sample: Judged,
  baselines: Baselines,
  settings: Pick<TrainingSettings, 'baseline' | 'leastBaseline' | 'rules'>,
): number | undefined {
  const { verdict, advantage, soft, carried } = sample;
  if (advantage !== undefined) return boundedAdvantage(advantage);
  if (!saysSomething(sample)) return undefined;
  const baseline = expectedOf(sample, baselines, settings);
  const isWeak = settings.rules >= 2 && (soft || carried !== undefined);
  if (!isWeak) return boundedAdvantage(advantageOf(verdict, baseline, settings.baseline));
  const left = boundedAdvantage(weakAdvantage(verdict, baseline, settings.baseline));
  return left === 0 ? undefined : left;
}

/**
 * Weight of an advantage in the loss. `verdictWeight` weighs a person's verdict against their hint. It does not
 * apply to methods that learn only from verdicts, nor to rewards, which have no hint. An implicit verdict is
 * recorded as an advantage and weighs less than an explicit one.
 */
export const weightOfVerdict = (
  { source, advantage }: Pick<Judged, 'source' | 'advantage'>,
  { rules, method, verdictWeight }: Pick<TrainingSettings, 'rules' | 'method' | 'verdictWeight'>,
): number =>
  rules >= 2 &&
  (method === 'binary' || source === 'reward' || (advantage !== undefined && source !== 'implicit'))
    ? 1
    : verdictWeight;

/**
 * The baselines after a batch. A return counts with an absolute value of at most 1: the baseline is shared by
 * everybody who uses the policy, and the rewards of one long session say little about the others.
 */
export function baselinesAfter(
  before: Baselines,
  samples: readonly Judged[],
  settings: Pick<TrainingSettings, 'rules' | 'baselineDecay'>,
): Baselines {
  const counted = samples.filter((sample) => sample.advantage === undefined && saysSomething(sample));
  const after = (kind: EvidenceKind) => {
    const verdicts = counted
      .filter((sample) => kindOf(sample, settings) === kind)
      .map(({ verdict }) => Math.min(1, Math.max(-1, verdict)));
    return updateBaseline(baselineFor(before, kind), verdicts, settings.baselineDecay);
  };
  const [{ value, count }, tool, reward] = [after('person'), after('tool'), after('reward')];
  return {
    value,
    count,
    ...defined({
      tool: tool.count === 0 ? undefined : tool,
      reward: reward.count === 0 ? undefined : reward,
    }),
  };
}
