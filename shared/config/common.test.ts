import { expect, test } from 'vitest';
import { z } from 'zod';
import { CommonConfig, ConfigError, helpText, loadConfig, printableConfig } from './common.ts';

const JudgeLike = CommonConfig.extend({
  votes: z.int().min(1).default(3).describe('votes per turn'),
  openaiApiKey: z.string().optional().describe('key of the judge'),
  late: z.boolean().default(false).describe('a switch'),
  stop: z.array(z.string()).default([]).describe('a list'),
});
const load = (argv: string[], env: NodeJS.ProcessEnv = {}) => loadConfig('judge', JudgeLike, argv, env);

test('a flag outranks an environment variable, which outranks the default', () => {
  expect(load([]).values.votes).toBe(3);
  expect(load([], { CLAWLOOP_JUDGE_VOTES: '5' }).values.votes).toBe(5);
  const both = load(['--votes', '7'], { CLAWLOOP_JUDGE_VOTES: '5' });
  expect(both.values.votes).toBe(7);
  expect(both.sources.votes).toBe('flag');
});

test('shared settings have no service in their variable name', () => {
  expect(load([], { CLAWLOOP_DATA_FOLDER: '/data' }).values.dataFolder).toBe('/data');
});

test('switches and lists are parsed', () => {
  const { values } = load(['--late', '--stop', 'a, b']);
  expect(values).toMatchObject({ late: true, stop: ['a', 'b'] });
});

test('an unknown flag or invalid value is refused by name', () => {
  expect(() => load(['--vote', '3'])).toThrow(ConfigError);
  expect(() => load(['--votes', 'many'])).toThrow(/--votes \(CLAWLOOP_JUDGE_VOTES\)/);
});

test('the start-up line names sources and masks secrets', () => {
  const printed = printableConfig(load([], { CLAWLOOP_JUDGE_OPENAI_API_KEY: 'sk-very-secret' }));
  expect(printed.openaiApiKey).toBe('*** (env)');
  expect(printed.votes).toBe('3 (default)');
});

test('help shows flag, variable, default and meaning', () => {
  expect(helpText('judge', JudgeLike as unknown as z.ZodObject)).toMatch(
    /--votes .*votes per turn\n.*CLAWLOOP_JUDGE_VOTES, default 3/,
  );
});

test('a wrong value is named in plain words', () => {
  expect(() => load(['--votes', 'x'])).toThrow("--votes (CLAWLOOP_JUDGE_VOTES) must be a number, not 'x'");
  expect(() => load(['--votes', '1.5'])).toThrow("must be a whole number, not '1.5'");
  expect(() => load(['--votes', '0'])).toThrow('must be at least 1, not 0');
});
