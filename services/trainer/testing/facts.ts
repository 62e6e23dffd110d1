import type { BatchSubmitted } from '../../../shared/events/batch-submitted.ts';
import type { SampleReady } from '../../../shared/events/sample-ready.ts';
import type { TrainingSettings } from '../../../shared/events/training-settings.ts';
import { defaultTrainingSettings } from '../../../shared/policy/train/training-defaults.ts';

/** For tests: event data as the collector writes it. */

export const sampleData = (
  sampleId: string,
  changes: Partial<Omit<SampleReady['data'], 'tokens'>> & {
    readonly tokens?: Partial<SampleReady['data']['tokens']>;
  } = {},
): SampleReady['data'] => ({
  sampleId,
  adapter: 'default',
  lane: 'lane',
  session: `session of ${sampleId}`,
  epoch: 'epoch',
  version: 0,
  verdict: 1,
  source: 'votes',
  soft: false,
  hints: [],
  messages: [{ role: 'user', content: 'hi' }],
  ...changes,
  tokens: {
    promptIds: [1, 2, 3],
    responseIds: [4, 0],
    logProbs: [-1.6, -1.6],
    effectiveTemperature: 1,
    greedy: false,
    filters: { topP: 1, topK: 0 },
    ...changes.tokens,
  },
});

/** Settings for the calculations in the tests, independent of the defaults. Only one wide bound is set. */
const {
  gateBaseKl: _,
  gateContent: __,
  gateCollapse: ___,
  gateAbsurd: ____,
  ...defaults
} = defaultTrainingSettings('another').settings;
const plain = {
  ...defaults,
  learningRate: 5e-3,
  warmUpSteps: 0,
  baselineDecay: 0.95,
  klCoefficient: 0,
  fade: 1,
  verdictWeight: 1,
  hintWeight: 1,
  distillation: 'sampled' as const,
  topK: 4,
  hintCheck: false,
  ownWordsWeight: 1,
  hintedComplaintWeight: 1,
  teacherAnchor: 0,
  gateMeanKl: 0.5,
  gateLeastScale: 1,
} as const;

export const batchData = (
  n: number,
  samples: readonly SampleReady['data'][],
  changes: Partial<TrainingSettings> = {},
  parent = n - 1,
): BatchSubmitted['data'] => ({
  batchId: `default/batch/${n}`,
  adapter: 'default',
  n,
  parent,
  size: samples.length,
  maxStaleness: 4,
  samples: samples.map(({ sampleId }, offset) => ({ sampleId, at: { partition: 0, offset } })),
  settings: { ...plain, ...changes },
  seed: 11 * n,
});
