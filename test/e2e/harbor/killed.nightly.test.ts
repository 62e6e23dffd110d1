import { rmSync } from 'node:fs';
import { onTestFinished, test } from 'vitest';
import { until } from '../harness/clawloop.ts';
import { expectKillsOf } from '../openenv/killed-suite.ts';
import { withRollouts } from '../openenv/with-rollouts.ts';
import { containersOf, describeWithContainers } from './describe-with-containers.ts';
import { solutionOf, someTasks } from './tasks.ts';

/** Its tests run in a separate container. */
const TASK = 'access-report';
const SUBMIT = 'echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT';

describeWithContainers('kills at every request of a rollout with containers', () => {
  const tools = withRollouts();

  test('leave no container, lose nothing, and count nothing twice', async () => {
    tools.decide(({ step, conversation }) => ({
      name: 'bash',
      arguments: { command: step === 0 && conversation % 2 === 0 ? solutionOf(TASK) : SUBMIT },
    }));
    const folder = someTasks(TASK);
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const flags = ['--env', `harbor:${folder}`, '--n', '2', '--max-steps', '3'];
    const afterwards = async () =>
      void (await until('no container is left', () => containersOf(TASK).length === 0));
    await expectKillsOf({ flags, attempts: 2, afterwards }, tools, 'rollout', 1);
  });
});
