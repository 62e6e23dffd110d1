import { expect, test } from 'vitest';
import { type RolloutFlags, rolloutFlags, rolloutSettings } from './settings.ts';

const defaults = Object.fromEntries(
  Object.entries(rolloutFlags).flatMap(([name, flag]) => ('default' in flag ? [[name, flag.default]] : [])),
);
const settings = (flags: RolloutFlags) => rolloutSettings({ ...defaults, ...flags });
const env = 'openenv:http://127.0.0.1:8000';

test('with an environment, agent, reward and data have defaults', () => {
  expect(settings({ env, split: 'test', tasks: '2:5' })).toMatchObject({
    agent: { kind: 'tools', maxSteps: 30 },
    reward: undefined,
    data: undefined,
    environment: { specification: env, selection: { split: 'test', range: { from: 2, to: 5 } } },
  });
  expect(settings({ env, tasks: '3' }).environment!.selection.range).toEqual({ from: 0, to: 3 });
  expect(settings({ env, agent: 'own.ts', data: 'd.jsonl' })).toMatchObject({
    agent: { kind: 'module', path: 'own.ts' },
    data: 'd.jsonl',
  });
});

test('flags that do not fit together are refused', () => {
  const files = { agent: 'a.ts', reward: 'r.ts', data: 'd.jsonl' };
  expect(() => settings({ agent: 'a.ts', data: 'd.jsonl' })).toThrow(/usage/);
  expect(() => settings({ ...files, agent: 'tools' })).toThrow('--agent tools needs --env');
  expect(() => settings({ ...files, tasks: '3' })).toThrow('--tasks needs --env');
  expect(() => settings({ ...files, 'timeout-counts': true })).toThrow('--timeout-counts needs --env');
  expect(() => settings({ env, data: 'd.jsonl', split: 'test' })).toThrow(/--split and --tasks/);
  for (const tasks of ['0', '5:5', '-1', '1:x'])
    expect(() => settings({ env, tasks })).toThrow(/--tasks must be/);
});

test('a program is an agent with and without an environment', () => {
  const agent = 'program:mini -y -t "$INSTRUCTION"';
  const command = 'mini -y -t "$INSTRUCTION"';
  expect(settings({ env, agent }).agent).toEqual({ kind: 'program', command });
  expect(settings({ agent, reward: 'r.ts', data: 'd.jsonl' }).agent).toEqual({ kind: 'program', command });
  expect(() => settings({ env, agent: 'program: ' })).toThrow(/needs a shell command/);
});

test('steps are compared if a weight is given, and attempts weigh the same with an environment', () => {
  const files = { agent: 'a.ts', reward: 'r.ts', data: 'd.jsonl' };
  expect(settings(files)).toMatchObject({ steps: undefined, terms: {} });
  expect(settings({ env }).terms).toEqual({ weigh: 'attempt' });
  expect(settings({ env, weigh: 'turn' }).terms).toEqual({});
  const given = settings({
    ...files,
    process: '0.3',
    'process-baseline': 'index',
    anchors: '1',
    weigh: 'attempt',
  });
  expect(given.steps).toEqual({
    process: 0.3,
    processBaseline: 'index',
    anchors: 1,
    votesTimeoutMs: 300_000,
  });
  expect(given.terms).toEqual({ process: { votes: 3, weight: 0.3 }, weigh: 'attempt' });
  expect(settings({ ...files, anchors: '1' })).toMatchObject({ steps: { process: 0 }, terms: {} });
  for (const process of ['-1', 'x', '', '11'])
    expect(() => settings({ ...files, process })).toThrow('--process must be a number from 0 to 10');
  expect(() => settings({ ...files, process: '1', 'process-votes': '16' })).toThrow('from 1 to 15');
  expect(() => settings({ ...files, 'process-baseline': 'index' })).toThrow('needs --process');
  expect(() => settings({ ...files, weigh: 'token' })).toThrow('--weigh must be turn or attempt');
});

test('tasks in containers have the agent that works by a shell', () => {
  const harbor = 'harbor:tasks';
  expect(settings({ env: harbor })).toMatchObject({
    agent: { kind: 'bash', maxSteps: 30, form: 'calls', contextTokens: undefined },
    environment: { containers: { tool: undefined, environments: 4, withNetwork: false } },
  });
  const given = {
    form: 'backticks',
    'context-tokens': '8000',
    'container-tool': 'docker',
    environments: '2',
    network: true,
  };
  expect(settings({ env: harbor, ...given })).toMatchObject({
    agent: { form: 'backticks', contextTokens: 8000 },
    environment: { containers: { tool: 'docker', environments: 2, withNetwork: true } },
  });
  expect(settings({ env: harbor, agent: 'tools' }).agent).toEqual({ kind: 'tools', maxSteps: 30 });
  expect(() => settings({ env, form: 'calls' })).toThrow('--form needs --agent bash');
  expect(() => settings({ env: harbor, form: 'xml' })).toThrow(/--form must be/);
  expect(() => settings({ env: harbor, 'container-tool': 'lxc' })).toThrow(/--container-tool must be/);
  expect(() => settings({ env: harbor, environments: '0' })).toThrow(/--environments must be/);
});
