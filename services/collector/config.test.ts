import { expect, test } from 'vitest';
import { defaultTrainingSettings } from '../../shared/policy/training-defaults.ts';
import { loadConfig } from '../../shared/service/config.ts';
import { CollectorConfig, submitSettings, waitOf } from './config.ts';

const settings = (...argv: string[]) =>
  submitSettings(loadConfig('collector', CollectorConfig, argv, {}).values as CollectorConfig);

test('what is not told follows from the model', () => {
  const nano = defaultTrainingSettings('claw-nano');
  expect(settings()).toEqual({
    size: nano.batchSize,
    most: 8 * nano.batchSize,
    wishPatience: 12,
    standingWishes: true,
    maxStaleness: nano.maxStaleness,
    share: 0.5,
    training: nano.settings,
    adapterMethods: {},
    adapterDistillation: {},
  });
  expect(settings('--model', '/models/x').size).toBe(4);
});

test('samples of a model that is talked to now and then wait a night at most, those of claw-nano for their batch', () => {
  const wait = (...argv: string[]) =>
    waitOf(loadConfig('collector', CollectorConfig, argv, {}).values as CollectorConfig);
  expect(wait()).toBeUndefined();
  expect(wait('--model', 'Qwen/Qwen3-0.6B')).toBe(8 * 3_600_000);
  expect(wait('--model', 'Qwen/Qwen3-0.6B', '--waited-ms', '500')).toBe(500);
});

test('what is told is in the batch, and nothing else changes', () => {
  const told = settings(
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
  expect(told).toMatchObject({
    size: 8,
    training: { ...training, learningRate: 0.5, baseline: false, weightDecay: 0.1 },
  });
});

test('the method is set for all adapters, and for single ones', () => {
  expect(settings().training.method).toBe('combine');
  const told = settings('--method', 'binary', '--adapter-methods', 'mine=opd,yours=combine');
  expect(told.training.method).toBe('binary');
  expect(told.adapterMethods).toEqual({ mine: 'opd', yours: 'combine' });
  expect(() => settings('--method', 'magic')).toThrow(/--method/);
  for (const broken of ['mine', 'mine=magic', 'mine=opd,', '=opd'])
    expect(() => settings('--adapter-methods', broken)).toThrow(/--adapter-methods/);
});

test('what is learned of a teacher is set for all adapters, and for single ones', () => {
  expect(settings('--model', '/models/x').training).toMatchObject({ distillation: 'topk', topK: 32 });
  const told = settings('--distillation', 'topk', '--top-k', '50', '--adapter-distillation', 'mine=overlap');
  expect(told.training).toMatchObject({ distillation: 'topk', topK: 50 });
  expect(told.adapterDistillation).toEqual({ mine: 'overlap' });
  expect(() => settings('--distillation', 'all')).toThrow(/--distillation/);
  for (const broken of ['0', '1025', '2.5']) expect(() => settings('--top-k', broken)).toThrow(/--top-k/);
  expect(() => settings('--adapter-distillation', 'mine=all')).toThrow(/--adapter-distillation/);
});
