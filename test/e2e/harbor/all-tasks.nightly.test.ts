import { expect, test } from 'vitest';
import { clawloop, until } from '../harness/clawloop.ts';
import { containersOfProcess, describeWithContainers } from './describe-with-containers.ts';
import { terminal, terminalTasks } from './tasks.ts';

describeWithContainers('all terminal tasks', () => {
  test('each is fit', async () => {
    let pid = 0;
    const argv = ['env', 'check', `harbor:${terminal}`];
    const checking = clawloop(argv, {}, (_, started) => {
      pid = started;
    });
    await until('a container runs', () => containersOfProcess(pid).length > 0);
    const { code, stdout, stderr } = await checking;
    expect(code, stdout + stderr).toBe(0);
    expect(stdout).toContain(`all ${terminalTasks().length} tasks are fit`);
    expect(containersOfProcess(pid)).toEqual([]);
  });
});
