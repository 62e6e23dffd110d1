import type { SampleReady } from '../../shared/events/sample-ready.ts';
import type { TrainingSettings } from '../../shared/events/training-settings.ts';
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

/** What a verdict is compared with. Earlier rules knew one baseline for all. */
const kindOf = ({ source, evidence }: Judged, { rules }: Rules): EvidenceKind =>
  rules < 2 ? 'person' : source === 'reward' ? 'reward' : (evidence ?? 'person');

/** A vote of 0 says nothing; a reward of 0 does. */
const saysSomething = ({ verdict, source }: Judged): boolean => verdict !== 0 || source === 'reward';

/** A person is silent about answers, too, and those are no worse than what they complain of. */
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
 * By how much an answer was better than expected: against other attempts at its task where that was told,
 * else against the baseline of its kind. undefined: its verdict says nothing.
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
 * Weight of an advantage in the loss. `verdictWeight` sets what a person's verdict weighs beside their hint: it
 * has no meaning where verdicts are all there is, nor for rewards, which come with no hint. What a person only did
 * is told as an advantage, and weighs less than what they said.
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
 * The baselines after a batch. A return counts as 1 at most, by size: the baseline is that of all who talk to
 * the policy, and the rewards of one long session say nothing of theirs.
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
    ...{ value, count },
    ...(tool.count === 0 ? {} : { tool }),
    ...(reward.count === 0 ? {} : { reward }),
  };
}
