import { expect, test } from 'vitest';
import { phasesOf } from './phases.ts';
import { readTaskFile } from './task-file.ts';
import type { HarborTask } from './task-folder.ts';

function task(toml: string): HarborTask {
  const file = readTaskFile(toml, 'task.toml');
  const steps = file.steps.map((table) => ({
    table,
    instruction: `do ${table.name}`,
    folder: `/t/steps/${table.name}`,
  }));
  return { name: 't', folder: '/t', file, instruction: 'do it', steps };
}
const has =
  (...paths: string[]) =>
  (path: string) =>
    paths.includes(path);

test('a plain task is one phase, graded in its own container', () => {
  const [phase, ...others] = phasesOf(task('[agent]\ntimeout_sec = 30\nuser = "ann"'), has('/t/tests'));
  expect(others).toEqual([]);
  expect(phase).toMatchObject({
    instruction: 'do it',
    user: 'ann',
    limitMs: 30_000,
    solution: '/t/solution',
    grading: {
      mode: 'shared',
      tests: ['/t/tests'],
      limitMs: 600_000,
      image: { kind: 'folder', path: '/t/environment' },
      artifacts: ['/logs/artifacts'],
    },
  });
});

test('steps inherit missing settings, and add their tests to those of the task', () => {
  const phases = phasesOf(
    task(`
      [verifier]
      timeout_sec = 10
      env = { A = "1", B = "1" }
      user = "root"
      [[steps]]
      name = "one"
      [steps.verifier]
      env = { B = "2" }
      [[steps]]
      name = "two"
      min_reward = 1.0
    `),
    has('/t/tests', '/t/steps/one/tests', '/t/steps/two/solution', '/t/steps/two/workdir'),
  );
  expect(phases).toMatchObject([
    {
      instruction: 'do one',
      solution: '/t/solution',
      workdir: undefined,
      grading: {
        tests: ['/t/tests', '/t/steps/one/tests'],
        env: { A: '1', B: '2' },
        user: 'root',
        limitMs: 10_000,
      },
    },
    {
      solution: '/t/steps/two/solution',
      workdir: '/t/steps/two/workdir',
      least: 1,
      grading: { tests: ['/t/tests'] },
    },
  ]);
});

test('a separate verifier has the image of its tests, or a fresh one of the agent', () => {
  const toml =
    'artifacts = ["/app/out"]\n[environment]\ndocker_image = "base"\n[verifier]\nenvironment_mode = "separate"';
  const gradingOf = (text: string, ...paths: string[]) => phasesOf(task(text), has(...paths))[0]!.grading;
  expect(gradingOf(toml, '/t/tests')).toMatchObject({
    mode: 'separate',
    image: { kind: 'image', name: 'base' },
    tests: ['/t/tests'],
    artifacts: ['/logs/artifacts', '/app/out'],
  });
  expect(gradingOf(toml, '/t/tests', '/t/tests/Dockerfile')).toMatchObject({
    image: { kind: 'folder', path: '/t/tests' },
    tests: [],
  });
  expect(gradingOf('[verifier.environment]\ndocker_image = "judge"', '/t/tests')).toMatchObject({
    mode: 'separate',
    image: { kind: 'image', name: 'judge' },
    tests: [],
  });
});
