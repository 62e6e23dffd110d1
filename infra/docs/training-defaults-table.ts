import {
  defaultTrainingSettings,
  largestBatch,
  type TrainingDefaults,
} from '../../shared/policy/train/training-defaults.ts';

type Cell = string | number;
type Show = (defaults: TrainingDefaults) => Cell;

const models = ['claw-nano', 'another'] as const;
const both = models.map((model) => defaultTrainingSettings(model));

const row = (name: string, show: Show): string => line(name, both.map(show));
const line = (name: string, cells: readonly Cell[]): string => `| ${name} | ${cells.join(' | ')} |`;
const yesNo = (value: boolean | undefined): string => (value ? 'yes' : 'no');
/** Verdicts until the baseline has moved half the way. */
const halfLife = (decay: number): number => Math.round(Math.log(0.5) / Math.log(decay));

/** The generated table of docs/understand/learning.md. */
export const trainingDefaultsTable = (): string =>
  [
    '| setting | claw-nano | other models |',
    '|---|---|---|',
    ...stepRows(),
    ...gateRows(),
    ...lossRows(),
  ].join('\n');

const stepRows = (): readonly string[] => [
  row('learning rate (AdamW, no weight decay)', ({ settings }) => settings.learningRate.toExponential()),
  line(
    'learning rate with `--training full`',
    models.map((model) => defaultTrainingSettings(model, 'full').settings.learningRate.toExponential()),
  ),
  row(
    'AdamW betas, epsilon',
    ({ settings: { beta1, beta2, epsilon } }) => `${beta1} / ${beta2}, ${epsilon.toExponential()}`,
  ),
  row('warm-up, optimizer steps', ({ settings }) => settings.warmUpSteps ?? 0),
  row('largest gradient norm', ({ settings }) => settings.gradientClip),
  row('batch size', ({ batchSize }) => batchSize),
  row('largest batch, if samples would otherwise grow too old', ({ batchSize }) => largestBatch(batchSize)),
  row('longest wait for a full batch', ({ waitedMs }) =>
    waitedMs === undefined ? 'none' : `${waitedMs / 3_600_000} hours`,
  ),
  row('largest staleness, versions', ({ maxStaleness }) => maxStaleness),
  row('minibatches, epochs', ({ settings: { minibatches, epochs } }) => `${minibatches}, ${epochs}`),
  row('LoRA rank / alpha', ({ settings }) => `${settings.rank} / ${settings.alpha}`),
];

const gateRows = (): readonly string[] => [
  row('gate: largest mean KL to the parent, nats per token', ({ settings }) => settings.gateMeanKl),
  row('gate: largest mean KL to the base, nats per token', ({ settings }) => settings.gateBaseKl ?? 'none'),
  row('gate: smallest part of a step that is taken', ({ settings }) => `1/${1 / settings.gateLeastScale}`),
  row('gate: largest rise of absurd answers', ({ settings }) => settings.gateAbsurd ?? 'none'),
  row(
    'gate: largest loss of content, collapse, steerability',
    ({ settings: { gateContent, gateCollapse, gateSteerability } }) =>
      [gateContent, gateCollapse, gateSteerability].map((most) => most ?? 'none').join(', '),
  ),
];

const lossRows = (): readonly string[] => [
  row(
    'baseline decay per verdict (half-life)',
    ({ settings: { baselineDecay } }) => `${baselineDecay} (${halfLife(baselineDecay)})`,
  ),
  row('weight of a sample per later sample of the same person', ({ settings }) => settings.fade),
  row(
    'clip low / high, staleness cap',
    ({ settings }) => `${settings.clipLow} / ${settings.clipHigh}, ${settings.stalenessCap}`,
  ),
  row('KL to the base in the loss', ({ settings }) => settings.klCoefficient),
  row(
    'weights of verdict / hint, gap clip, teacher and its anchor',
    ({ settings: { verdictWeight, hintWeight, gapClip, teacher, teacherAnchor } }) =>
      `${verdictWeight} / ${hintWeight}, ${gapClip}, ${teacher} ${teacherAnchor}`,
  ),
  row(
    'factor on the verdict of a complaint whose hint teaches',
    ({ settings: { hintedComplaintWeight } }) => hintedComplaintWeight,
  ),
  row(
    'distillation, top k, share of the forward KL',
    ({ settings: { distillation, topK, forwardKl } }) => `${distillation}, ${topK}, ${forwardKl}`,
  ),
  row(
    "hints are checked, weight of a person's own words",
    ({ settings: { hintCheck, ownWordsWeight } }) => `${yesNo(hintCheck)}, ${ownWordsWeight}`,
  ),
  row(
    'rehearsed requests, KL to the base above which they hold back',
    ({ settings: { rehearsal, rehearsalBound } }) =>
      rehearsal === 0 ? 'none' : `${rehearsal}, ${rehearsalBound ?? 'none'}`,
  ),
];
