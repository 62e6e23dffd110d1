import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import {
  defaultTrainingSettings,
  largestBatch,
  type TrainingDefaults,
  unmeasuredNote,
} from './training-defaults.ts';

test('docs/learning.md shows the defaults as they are', async () => {
  const page = await readFile(new URL('../../docs/learning.md', import.meta.url), 'utf8');
  const both = [defaultTrainingSettings('claw-nano'), defaultTrainingSettings('another')];
  const row = (name: string, show: (defaults: TrainingDefaults) => string | number) =>
    `| ${name} | ${both.map(show).join(' | ')} |`;
  const halfLife = (decay: number) => Math.round(Math.log(0.5) / Math.log(decay));
  const rows = [
    row('learning rate (AdamW, no decay)', ({ settings }) => settings.learningRate.toExponential()),
    row(
      'its betas, epsilon',
      ({ settings: { beta1, beta2, epsilon } }) => `${beta1} / ${beta2}, ${epsilon.toExponential()}`,
    ),
    `| the same with \`--training full\` | ${['claw-nano', 'another']
      .map((model) => defaultTrainingSettings(model, 'full').settings.learningRate.toExponential())
      .join(' | ')} |`,
    row('batch size', ({ batchSize }) => batchSize),
    row(
      'baseline decay per verdict (half-life)',
      ({ settings: { baselineDecay } }) => `${baselineDecay} (${halfLife(baselineDecay)})`,
    ),
    row('gate: largest mean KL to the parent, nats per token', ({ settings }) => settings.gateMeanKl),
    row('gate: largest mean KL to the base, nats per token', ({ settings }) => settings.gateBaseKl ?? 'none'),
    row('gate: smallest part of a step that is taken', ({ settings }) => settings.gateLeastScale),
    row(
      'gate: largest loss of content, collapse, steerability',
      ({ settings: { gateContent, gateCollapse, gateSteerability } }) =>
        [gateContent, gateCollapse, gateSteerability].map((most) => most ?? 'none').join(', '),
    ),
    row('LoRA rank / alpha', ({ settings }) => `${settings.rank} / ${settings.alpha}`),
    row('minibatches, epochs', ({ settings: { minibatches, epochs } }) => `${minibatches}, ${epochs}`),
    row(
      'clip low / high, staleness cap',
      ({ settings }) => `${settings.clipLow} / ${settings.clipHigh}, ${settings.stalenessCap}`,
    ),
    row('warm-up, optimizer steps', ({ settings }) => settings.warmUpSteps ?? 0),
    row('longest wait for a full batch', ({ waitedMs }) =>
      waitedMs === undefined ? 'none' : `${waitedMs / 3_600_000} hours`,
    ),
    row('largest batch, where samples would grow too old', ({ batchSize }) => largestBatch(batchSize)),
    row('weight of a sample for each later one of its person', ({ settings }) => settings.fade),
    row('largest gradient norm', ({ settings }) => settings.gradientClip),
    row('KL to the base', ({ settings }) => settings.klCoefficient),
    row(
      'weights of verdict and hint, gap clip, teacher and its anchor',
      ({ settings: { verdictWeight, hintWeight, gapClip, teacher, teacherAnchor } }) =>
        `${verdictWeight} / ${hintWeight}, ${gapClip}, ${teacher} ${teacherAnchor}`,
    ),
    row('distillation, top k', ({ settings: { distillation, topK } }) => `${distillation}, ${topK}`),
    row('largest staleness, versions', ({ maxStaleness }) => maxStaleness),
  ];
  for (const one of rows) expect(page).toContain(one);
});

test('rates of Qwen3 fall with the size, by the form that docs/learning.md names', () => {
  const rate = (model: string) => defaultTrainingSettings(model).settings.learningRate;
  const sizes: Readonly<Record<string, number>> = { '0.6B': 1024, '1.7B': 2048, '4B': 2560, '8B': 4096 };
  for (const [size, hidden] of Object.entries(sizes))
    expect(rate(`Qwen/Qwen3-${size}`)).toBeCloseTo(1e-4 * (1024 / hidden) ** 0.0775, 6);
  expect(rate('/models/qwen3-8b-instruct')).toBe(rate('Qwen/Qwen3-8B'));
  expect(rate('HuggingFaceTB/SmolLM2-135M')).toBe(1e-4);
});

test('whoever starts another model is told that nobody has measured how it learns', () => {
  expect(unmeasuredNote('claw-nano')).toBeUndefined();
  expect(unmeasuredNote('Qwen/Qwen3-4B')).toMatch(/Qwen3-4B learns is not measured/);
});
