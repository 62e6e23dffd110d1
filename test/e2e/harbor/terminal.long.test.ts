import { rm } from 'node:fs/promises';
import { expect, onTestFinished, test } from 'vitest';
import { clawloop } from '../harness/clawloop.ts';
import type { PolicyAnswer, PolicyRequest } from '../openenv/scripted-policy.ts';
import { withRollouts } from '../openenv/with-rollouts.ts';
import { containersOf, describeWithContainers, podman } from './describe-with-containers.ts';
import { ownTasks, solutionOf, someTasks } from './tasks.ts';

const bash = (command: string): PolicyAnswer => ({ name: 'bash', arguments: { command } });
const submit = bash('echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT');

/** For each task, the commands of each step of a policy that solves half of it. */
const halves: Readonly<Record<string, readonly string[]>> = {
  'access-report': [
    "mkdir report && cut -d' ' -f1 access.log | sort | uniq -c | sort -rn | head -5 | awk '{ print $2 }' > report/top.txt",
  ],
  'address-book': [solutionOf('address-book', 'clean'), 'true'],
  'edit-config': ["sed -i '/^\\[http\\]/,/^\\[/ s/^port = .*/port = 8443/' server.conf"],
  'fix-permissions': ['find site -type d -exec chmod 755 {} + && find site -type f -exec chmod 644 {} +'],
};
const wholes: Readonly<Record<string, readonly string[]>> = {
  'access-report': [solutionOf('access-report')],
  'address-book': [solutionOf('address-book', 'clean'), solutionOf('address-book', 'search')],
  'edit-config': [solutionOf('edit-config')],
  'fix-permissions': [solutionOf('fix-permissions')],
};

/** The task of a conversation, by a word of its instruction. */
const taskOf = ({ messages }: PolicyRequest): string => {
  const words = {
    report: 'access-report',
    'people.txt': 'address-book',
    'server.conf': 'edit-config',
    site: 'fix-permissions',
  };
  const said = messages[1]!.content!;
  return Object.entries(words).find(([word]) => said.includes(word))![1];
};

describeWithContainers('the terminal tasks', () => {
  test('they are fit, and a second check builds no image', async () => {
    const folder = someTasks('edit-config', 'hostile-agent');
    onTestFinished(() => rm(folder, { recursive: true }));
    const checked = await clawloop(['env', 'check', `harbor:${folder}`]);
    expect(checked.code, checked.stdout + checked.stderr).toBe(0);
    expect(checked.stdout).toContain('all 2 tasks are fit');
    expect(checked.stderr).toMatch(/check \[#+\] 100 %/);
    const images = () => podman('images', '--quiet', '--no-trunc').stdout;
    const before = images();
    const again = await clawloop(['env', 'check', `harbor:${folder}`, '--tasks', '1']);
    expect(again.code, again.stdout).toBe(0);
    expect(images()).toBe(before);
    expect(containersOf('edit-config', 'hostile-agent')).toEqual([]);
  });

  test('a task that is not fit is named, with its reason', async () => {
    const folder = ownTasks({
      'earns-nothing': { test: 'echo 0 > /logs/verifier/reward.txt' },
      'earns-for-free': { test: 'echo 1 > /logs/verifier/reward.txt' },
      'rates-nothing': { test: 'echo "the tests are broken"' },
      'does-not-build': { test: 'true', dockerfile: 'FROM debian:bookworm-slim\nRUN false\n' },
    });
    onTestFinished(() => rm(folder, { recursive: true }));
    const { code, stdout } = await clawloop(['env', 'check', `harbor:${folder}`]);
    expect(code).toBe(1);
    expect(stdout).toMatch(/earns-nothing .*does not earn 1/);
    expect(stdout).toMatch(/earns-for-free .*without any work/);
    expect(stdout).toMatch(/rates-nothing .*neither reward.json.*the tests are broken/);
    expect(stdout).toMatch(/does-not-build .*cannot build/);
    expect(stdout).toContain('4 of 4 tasks are not fit');
  });

  test('a place without tasks, and a task of several containers, are refused', async () => {
    const folder = ownTasks({ composed: { test: 'true', files: { 'environment/docker-compose.yaml': '' } } });
    onTestFinished(() => rm(folder, { recursive: true }));
    const check = async (place: string) => {
      const { code, stderr } = await clawloop(['env', 'check', place]);
      return [code, stderr] as const;
    };
    expect(await check(`harbor:${folder}`)).toEqual([
      2,
      expect.stringMatching(/composed needs several containers/),
    ]);
    expect(await check(`harbor:${folder}/nothing`)).toEqual([2, expect.stringMatching(/cannot read/)]);
    expect(await check('openenv:http://x')).toEqual([2, expect.stringMatching(/usage: env /)]);
  });
});

describeWithContainers('a rollout of terminal tasks', () => {
  const { decide, rollIn } = withRollouts();

  test('the reference solution earns 1, half of it its share, and nonsense 0', async () => {
    const names = Object.keys(halves);
    const folder = someTasks(...names);
    onTestFinished(() => rm(folder, { recursive: true }));
    const kinds = new Map<number, number>();
    const counts = new Map<string, number>();
    decide((request) => {
      const task = taskOf(request);
      if (!kinds.has(request.conversation)) {
        kinds.set(request.conversation, counts.get(task) ?? 0);
        counts.set(task, kinds.get(request.conversation)! + 1);
      }
      const commands = [wholes[task]!, halves[task]!, ['echo nonsense; false']][
        kinds.get(request.conversation)!
      ]!;
      // each step: a command, then its submission
      const command = commands[Math.floor(request.step / 2)];
      return request.step % 2 === 0 && command !== undefined ? bash(command) : submit;
    });
    const { code, lines, printed } = await rollIn(`harbor:${folder}`, '--n', '3');
    expect(code, printed).toBe(0);
    for (const name of names) {
      const rewards = lines.filter(({ task }) => task === name).map(({ reward }) => reward);
      expect(rewards.sort(), name).toEqual([0, 0.5, 1]);
    }
    for (const { result } of lines) expect(result!.ended).toBe('submitted');
    expect(containersOf(...names)).toEqual([]);
  });
});
