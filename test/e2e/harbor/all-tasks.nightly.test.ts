import { expect, test } from 'vitest';
import { clawloop } from '../harness/clawloop.ts';
import { containersOf, describeWithContainers } from './describe-with-containers.ts';
import { terminal, terminalTasks } from './tasks.ts';

describeWithContainers('all terminal tasks', () => {
  test('each is fit', async () => {
    const { code, stdout, stderr } = await clawloop(['env', 'check', `harbor:${terminal}`]);
    expect(code, stdout + stderr).toBe(0);
    expect(stdout).toContain(`all ${terminalTasks().length} tasks are fit`);
    expect(containersOf(...terminalTasks())).toEqual([]);
  });
});
