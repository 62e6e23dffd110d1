import { expect, test } from 'vitest';
import { defaultTrainingSettings } from '../../shared/policy/training-defaults.ts';
import { loadConfig } from '../../shared/service/config.ts';
import { CollectorConfig, submitSettings } from './config.ts';

const settings = (...argv: string[]) =>
  submitSettings(loadConfig('collector', CollectorConfig, argv, {}).values as CollectorConfig);

test('what is not told follows from the model', () => {
  const nano = defaultTrainingSettings('claw-nano');
  expect(settings()).toEqual({
    size: nano.batchSize,
    maxStaleness: nano.maxStaleness,
    training: nano.settings,
  });
  expect(settings('--model', '/models/x').size).toBe(16);
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

test('a method that no trainer knows yet is refused at the start, not batch by batch', () => {
  expect(() => settings('--method', 'opd')).toThrow(
    /^--method \(CLAWLOOP_COLLECTOR_METHOD\): method opd cannot/,
  );
  expect(settings('--method', 'binary').training.method).toBe('binary');
});
