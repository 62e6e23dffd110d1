import { expect, test } from 'vitest';
import { CollectorConfig } from '../../shared/config/collector.ts';
import { loadConfig } from '../../shared/config/common.ts';
import { defaultTrainingSettings } from '../../shared/policy/train/training-defaults.ts';
import { fullBatchWaitMs, submitSettings } from './settings.ts';

const settings = (...argv: string[]) =>
  submitSettings(loadConfig('collector', CollectorConfig, argv, {}).values as CollectorConfig);

test('settings that are not configured follow from the model', () => {
  const nano = defaultTrainingSettings('claw-nano');
  expect(settings()).toEqual({
    watch: { alpha: 0.01, margin: 0, pauseAfter: 3 },
    size: nano.batchSize,
    most: 8 * nano.batchSize,
    wishPatience: 12,
    wishRules: 2,
    standingWishes: true,
    conflictAnchor: 0.5,
    conflictRate: 0.5,
    maxStaleness: nano.maxStaleness,
    share: 0.5,
    training: nano.settings,
    adapterMethods: {},
    adapterDistillation: {},
  });
  expect(settings('--model', '/models/x').size).toBe(4);
});

test('samples wait at most a night by default, but those of claw-nano for their batch', () => {
  const wait = (...argv: string[]) =>
    fullBatchWaitMs(loadConfig('collector', CollectorConfig, argv, {}).values as CollectorConfig);
  expect(wait()).toBeUndefined();
  expect(wait('--model', 'Qwen/Qwen3-0.6B')).toBe(8 * 3_600_000);
  expect(wait('--model', 'Qwen/Qwen3-0.6B', '--waited-ms', '500')).toBe(500);
});

test('configured settings are in the batch, and nothing else changes', () => {
  const submitted = settings(
    '--batch-size',
    '8',
    '--learning-rate',
    '0.5',
    '--baseline',
    'false',
    '--weight-decay',
    '0.1',
  );
  const { settings: training } = defaultTrainingSettings('claw-nano');
  expect(submitted).toMatchObject({
    size: 8,
    training: { ...training, learningRate: 0.5, baseline: false, weightDecay: 0.1 },
  });
});

test('the method is set for all adapters or for single ones', () => {
  expect(settings().training.method).toBe('combine');
  const submitted = settings('--method', 'binary', '--adapter-methods', 'mine=opd,yours=combine');
  expect(submitted.training.method).toBe('binary');
  expect(submitted.adapterMethods).toEqual({ mine: 'opd', yours: 'combine' });
  expect(() => settings('--method', 'magic')).toThrow(/--method/);
  for (const broken of ['mine', 'mine=magic', 'mine=opd,', '=opd'])
    expect(() => settings('--adapter-methods', broken)).toThrow(/--adapter-methods/);
});

test('distillation is set for all adapters or for single ones', () => {
  expect(settings('--model', '/models/x').training).toMatchObject({ distillation: 'topk', topK: 32 });
  const submitted = settings(
    '--distillation',
    'topk',
    '--top-k',
    '50',
    '--adapter-distillation',
    'mine=overlap',
  );
  expect(submitted.training).toMatchObject({ distillation: 'topk', topK: 50 });
  expect(submitted.adapterDistillation).toEqual({ mine: 'overlap' });
  expect(() => settings('--distillation', 'all')).toThrow(/--distillation/);
  for (const broken of ['0', '1025', '2.5']) expect(() => settings('--top-k', broken)).toThrow(/--top-k/);
  expect(() => settings('--adapter-distillation', 'mine=all')).toThrow(/--adapter-distillation/);
});
