import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { clawloop, until } from '../harness/clawloop.ts';
import { killingProxy } from '../openenv/killing-proxy.ts';
import { withRollouts } from '../openenv/with-rollouts.ts';
import { containersOf, describeWithContainers } from './describe-with-containers.ts';
import { terminal, terminalTasks } from './tasks.ts';

const ATTEMPTS = 4;
/** The request of the rollout at which it is killed: it makes about 600. */
const MIDDLE = 250;

type Line = { readonly outcome: string; readonly session: string };

describeWithContainers('a rollout of all terminal tasks that is killed in the middle', () => {
  const tools = withRollouts();

  test('continues where it was killed, leaves no container, and the audit balances', async () => {
    tools.decide(({ step, conversation }) => ({
      name: 'bash',
      arguments: {
        command: step < conversation % 3 ? 'ls -la' : 'echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT',
      },
    }));
    const proxy = await killingProxy(tools.url);
    const out = join(tools.folder(), 'terminal.jsonl');
    const argv = [
      'rollout',
      '--env',
      `harbor:${terminal}`,
      '--n',
      String(ATTEMPTS),
      '--out',
      out,
      '--data-folder',
      tools.folder(),
      '--url',
      proxy.url,
      '--lease-timeout',
      '30',
    ];
    try {
      const killed = await clawloop(argv, {}, (signal) =>
        proxy.arm(MIDDLE, 'after', () => signal('SIGKILL')),
      );
      expect(killed.code).not.toBe(0);
      await until('no container is left', () => containersOf(...terminalTasks()).length === 0);
      const resumed = await clawloop([...argv, '--resume']);
      expect(resumed.code, resumed.stdout + resumed.stderr).toBe(0);
      expect(resumed.stdout).toMatch(/[1-9]\d* more tasks were finished before/);
    } finally {
      await proxy.close();
    }
    const lines = (await readFile(out, 'utf8'))
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Line);
    expect(lines.map(({ outcome }) => outcome)).toEqual(Array(12 * ATTEMPTS).fill('rewarded'));
    expect(new Set(lines.map(({ session }) => session)).size).toBe(12 * ATTEMPTS);
    expect(containersOf(...terminalTasks())).toEqual([]);
    await until('the environments of the killed part are free', async () => {
      const response = await fetch(`${tools.url()}/rl/environments`);
      return ((await response.json()) as { data: readonly unknown[] }).data.length === 0;
    });
    const { code, stdout } = await tools.run('audit');
    expect(stdout).toMatch(/^balances$/m);
    expect(code).toBe(0);
  });
});
