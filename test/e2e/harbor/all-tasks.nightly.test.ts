import { expect, test } from 'vitest';
import { clawloop } from '../harness/clawloop.ts';
import { containersOfProcess, describeWithContainers } from './describe-with-containers.ts';
import { terminal, terminalTasks } from './tasks.ts';

describeWithContainers('all terminal tasks', () => {
  test('each is fit', async () => {
    let pid: number | undefined;
    const argv = ['env', 'check', `harbor:${terminal}`];
    const { code, stdout, stderr } = await clawloop(argv, {}, (_, started) => {
      pid = started;
    });
    expect(code, stdout + stderr).toBe(0);
    expect(stdout).toContain(`all ${terminalTasks().length} tasks are fit`);
    expect(containersOfProcess(pid!)).toEqual([]);
  });
});
