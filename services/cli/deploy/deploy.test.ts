import { afterAll, beforeAll, expect, test } from 'vitest';
import { ConfigError } from '../../../shared/config/common.ts';
import { deploySettings } from '../../../shared/config/deploy.ts';
import { clawloop } from '../../../test/e2e/harness/clawloop.ts';
import { type TinkerFake, tinkerFake } from '../../../test/tinker-fakes/tinker-fake.ts';

const KEY = 'tml-a-secret-key';
let tinker: TinkerFake;
let fireworks: TinkerFake;
beforeAll(async () => {
  tinker = await tinkerFake({ dialect: 'tinker', model: 'Qwen/Qwen3-8B', apiKey: KEY, tokensForS: 3600 });
  fireworks = await tinkerFake({ dialect: 'fireworks', model: 'accounts/fireworks/models/q', apiKey: KEY });
});
afterAll(async () => {
  for (const fake of [tinker, fireworks]) await fake.stop();
});

const deploy = (target: string, fake: TinkerFake, flags: readonly string[], key = KEY) =>
  clawloop(['deploy', target, '--training-url', fake.url, '--dry-run', ...flags], {
    TINKER_API_KEY: key,
    FIREWORKS_API_KEY: key,
    TINKER_PROJECT_ID: 'project-7',
  });

test('a dry run checks Tinker with its short-lived tokens and prints the command without the key', async () => {
  const { code, stdout, stderr } = await deploy('tinker', tinker, [
    '--model',
    'Qwen/Qwen3-8B',
    '--port',
    '8799',
  ]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(stdout).toContain('trains Qwen/Qwen3-8B, up to 512 tokens');
  expect(stdout).toMatch(/gradients are as expected, norm [\d.]+; the check took \d+ tokens/);
  expect(stdout).toContain('never run against the live services');
  expect(stdout).toContain(
    `npx clawloop up --training-engine tinker --training-dialect tinker --training-url ${tinker.url} --training-model Qwen/Qwen3-8B --collector-method combine --model Qwen/Qwen3-8B --port 8799`,
  );
  expect(stdout).not.toContain(KEY);
  expect(tinker.models().length).toBe(0);
  const created = tinker.requests.filter(({ path }) => path.endsWith('/create_session'));
  expect(created.map(({ body }) => body.project_id)).toEqual(['project-7']);
  for (const { path, headers } of tinker.requests)
    if (!/client\/config|auth\/token/.test(path)) expect(headers['x-api-key']).not.toBe(KEY);
});

test('a dry run checks a trainer job of Fireworks', async () => {
  const flags = ['--training-model', fireworks.model, '--gpus', '8', '--method', 'opd'];
  const { code, stdout } = await deploy('fireworks', fireworks, flags);
  expect(code).toBe(0);
  expect(stdout).toContain('gradients are as expected; the check took');
  expect(stdout).toContain('--gpus 8 is not sent');
  expect(stdout).toContain('--collector-method opd');
  const steps = fireworks.requests.filter(({ path }) => path.endsWith('/optim_step'));
  expect(steps.length).toBeGreaterThan(0);
  for (const { body } of steps) expect(body.grad_accumulation_normalization).toBe('none');
});

test.each([
  ['a wrong key', [], 'tml-other', 'refuses the API key'],
  ['an unknown model', ['--training-model', 'Qwen/none'], KEY, 'one of its models: Qwen/Qwen3-8B'],
  ['a spent budget', ['--training-budget', '10'], KEY, 'Raise --training-budget'],
] as const)('%s is reported, and nothing starts', async (_, flags, key, message) => {
  const { code, stdout, stderr } = await deploy(
    'tinker',
    tinker,
    ['--model', 'Qwen/Qwen3-8B', ...flags],
    key,
  );
  expect({ code, stderr }).toEqual({ code: 1, stderr: '' });
  expect(stdout).toMatch(/^bad {3}/m);
  expect(stdout).toContain(message);
  expect(stdout).not.toContain(key);
});

test('what is missing is named', () => {
  expect(() => deploySettings('tinker', [], {})).toThrow(
    new ConfigError('set TINKER_API_KEY to your API key of the service'),
  );
  const env = { FIREWORKS_API_KEY: 'k' };
  expect(() => deploySettings('fireworks', [], env)).toThrow('rlorTrainerJobs/ACCOUNT/JOB');
  expect(() => deploySettings('fireworks', ['--training-url', 'https://a.b'], env)).toThrow(
    '--training-model',
  );
  expect(deploySettings('tinker', [], { TINKER_API_KEY: 'k' })).toMatchObject({
    trainingUrl: 'https://tinker.thinkingmachines.dev/services/tinker-prod',
    method: 'combine',
    project: undefined,
  });
});
