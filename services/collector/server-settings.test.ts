import { expect, test } from 'vitest';
import { CollectorConfig } from '../../shared/config/collector.ts';
import { loadConfig } from '../../shared/config/common.ts';
import { trainingAccess, trainingPlace } from '../../shared/config/training-server.ts';
import { serverRefusal, submitSettings } from './settings.ts';

const config = (...flags: string[]) => loadConfig('collector', CollectorConfig, flags, {}).values;
const onServer = (...flags: string[]) => config('--training-engine', 'tinker', ...flags);
const tinker = ['--training-dialect', 'tinker'];

test('the defaults are settings that the server can follow', () => {
  for (const model of ['claw-nano', 'Qwen/Qwen3-8B'])
    for (const dialect of ['tinker', 'skyrl-jax'])
      expect(serverRefusal(onServer('--model', model, '--training-dialect', dialect))).toBeUndefined();
  const { training } = submitSettings(onServer('--model', 'Qwen/Qwen3-8B'));
  expect(training).toMatchObject({ distillation: 'sampled', alpha: 32, rehearsal: 0 });
  // Twice the alpha moves the policy twice as far.
  expect(training.learningRate).toBe(
    submitSettings(config('--model', 'Qwen/Qwen3-8B')).training.learningRate / 2,
  );
  expect(submitSettings(onServer(...tinker)).training).toMatchObject({ distillation: 'topk', beta2: 0.999 });
  expect(training.beta2).toBe(0.95);
});

test.each([
  [['--training', 'full'], /adapters, not all weights.*--training lora/],
  [['--distillation', 'topk'], /distillation topk.*--collector-distillation sampled/],
  [['--adapter-distillation', 'me=overlap'], /distillation overlap/],
  [['--alpha', '16'], /alpha 32, not 16; set --collector-alpha 32/],
  [['--rank', '6', ...tinker], /powers of two, not 6/],
  [['--teacher', 'someone/teacher'], /no separate teacher someone\/teacher/],
  [['--rehearsal', '2'], /--collector-rehearsal 0/],
  [['--beta2', '0.999'], /a beta above 0.998 rounds to 1 .*set --collector-beta2 0.998 or less/],
  [['--beta1', '0.999'], /set --collector-beta1 0.998 or less/],
  [['--weight-decay', '0.1'], /decays the weights of every model .*set --collector-weight-decay 0/],
  [['--epsilon', '0'], /divides 0 by 0; set --collector-epsilon/],
  [['--training-dialect', 'skyrl-train'], /does not give trained adapters away/],
])('%j is refused by name', (flags, message) => {
  expect(serverRefusal(onServer(...flags))).toMatch(message);
  expect(serverRefusal(config(...flags))).toBeUndefined();
});

test('the largest beta is taken', () => {
  expect(serverRefusal(onServer('--beta1', '0.998', '--beta2', '0.998'))).toBeUndefined();
});

test('the dialect follows the address, and keys have the names of the field', () => {
  const env = { TINKER_BASE_URL: 'https://tinker.thinkingmachines.dev/services/x/', TINKER_API_KEY: 'tml-1' };
  expect(trainingPlace({}, env)).toEqual({
    url: 'https://tinker.thinkingmachines.dev/services/x',
    dialect: 'tinker',
  });
  expect(trainingAccess({}, { ...env, TINKER_PROJECT_ID: 'p' })).toEqual({ apiKey: 'tml-1', project: 'p' });
  const fireworks = { trainingUrl: 'https://api.fireworks.ai/training/v1/serverless' };
  expect(trainingPlace(fireworks, {}).dialect).toBe('fireworks');
  expect(trainingAccess(fireworks, { FIREWORKS_API_KEY: 'fw', TINKER_API_KEY: 'tml' }).apiKey).toBe('fw');
  expect(trainingPlace({ trainingUrl: 'http://10.0.0.2:8000' }, {}).dialect).toBe('skyrl-jax');
  expect(trainingAccess({ trainingApiKey: 'given' }, env).apiKey).toBe('given');
});
