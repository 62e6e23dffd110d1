import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import { afterAll, expect, test } from 'vitest';
import { until } from '../harness/clawloop.ts';
import type { PolicyAnswer } from '../openenv/scripted-policy.ts';
import { withRollouts } from '../openenv/with-rollouts.ts';
import { containersOf, describeWithContainers, podman } from './describe-with-containers.ts';
import { ownTasks } from './tasks.ts';

const bash = (command: string): PolicyAnswer => ({ name: 'bash', arguments: { command } });
const submit = bash('echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT');

/** Rates with 1 where the file of the task has the right word. */
const rates = 'if grep -qx done /app/work; then echo 1; else echo 0; fi > /logs/verifier/reward.txt';
const small = '[environment]\nmemory_mb = 128\nstorage_mb = 64\nnetwork_mode = "no-network"\n';

const folder = ownTasks({
  'fault-plain': { test: rates, toml: small },
  'fault-workdir': { test: rates, toml: `${small}workdir = "/app"\n` },
  'fault-unrated': { test: 'echo "no rating today"' },
  'fault-empty': { test: ': > /logs/verifier/reward.json' },
  'fault-slow': { test: 'sleep 600', toml: '[verifier]\ntimeout_sec = 1.0\n' },
  'fault-unbuilt': { test: rates, dockerfile: 'FROM debian:bookworm-slim\nRUN false\n' },
  'fault-secret': {
    // 1 where the tests see their own variable, and no key of the agent
    test: 'if [ "$GRADER" = here ] && ! env | grep -qi "api_key\\|sk-"; then echo 1; else echo 0; fi > /logs/verifier/reward.txt',
    toml: '[verifier]\nenv = { GRADER = "here" }\n',
  },
});
const at = (task: string) => `harbor:${folder}/${task}`;
const single = ['--n', '1', '--retries', '0'];

describeWithContainers('faults in containers', () => {
  const { decide, rollIn, signal } = withRollouts();
  afterAll(() => rm(folder, { recursive: true }));

  /** The policy runs these commands, then submits. Returns the observation after each. */
  const commands = (...given: readonly string[]) => {
    const seen: string[] = [];
    decide(({ step, messages }) => {
      if (step > 0) seen.push(messages.at(-1)!.content ?? '');
      return given[step] === undefined ? submit : bash(given[step]);
    });
    return seen;
  };

  test('a missing or empty reward file and tests without an end are failed evaluations, and never 0', async () => {
    commands();
    for (const [task, reason] of [
      ['fault-unrated', /neither reward.json nor reward.txt; the tests printed: no rating today/],
      ['fault-empty', /reward.json is empty/],
      ['fault-slow', /did not end within 1 s/],
    ] as const) {
      const { lines } = await rollIn(at(task), ...single);
      expect(lines, task).toMatchObject([{ outcome: 'evaluation-failed', reward: null }]);
      expect(lines[0]!.error).toMatch(reason);
    }
  });

  test('an image that cannot be built gives no reward either', async () => {
    commands();
    const { lines } = await rollIn(at('fault-unbuilt'), ...single);
    expect(lines).toMatchObject([{ outcome: 'environment-broken', reward: null }]);
    expect(lines[0]!.error).toMatch(/cannot build/);
  });

  test('a container killed in the middle of a command loses its attempt, and the next try continues', async () => {
    let kills = 1;
    decide(({ step }) => {
      if (step === 0) return bash('echo done > work');
      if (step > 1) return submit;
      if (kills-- <= 0) return bash('true');
      void until('the container runs', () => containersOf('fault-plain')[0]).then((id) => podman('kill', id));
      return bash('sleep 600');
    });
    const { lines } = await rollIn(at('fault-plain'), '--n', '1', '--retries', '1');
    expect(lines).toMatchObject([{ outcome: 'rewarded', reward: 1, earlier: ['environment-lost'] }]);
  });

  test('a command that hangs is killed with its child processes, and the attempt continues', async () => {
    const seen = commands('echo begun; sleep 600 | sleep 600', 'echo done > work');
    const { lines, printed } = await rollIn(at('fault-plain'), ...single, '--act-timeout', '10');
    expect(lines, printed).toMatchObject([{ reward: 1, result: { ended: 'submitted' } }]);
    expect(seen[0]).toMatch(/returncode>killed<.*begun.*killed after 10 s/s);
  });

  test('a command with a zero byte is refused, and one that removes its directory finds it again, empty', async () => {
    for (const [task, removes] of [
      ['fault-plain', 'rm -rf /app; touch /app'],
      ['fault-workdir', 'rm -rf /app'],
      ['fault-workdir', 'rm -rf /app; touch /app'],
    ] as const) {
      const seen = commands('echo "\u0000"', `echo done > work; ${removes}`, 'ls -A', 'echo done > work');
      const { lines, printed } = await rollIn(at(task), ...single);
      expect(lines, printed).toMatchObject([{ reward: 1, result: { ended: 'submitted' } }]);
      expect(seen[0]).toContain('the command contains a zero byte');
      expect(seen[2]).toMatch(/returncode>0<.*<output>\n?\[the working directory was gone/s);
      expect(seen[3]).not.toContain('directory');
    }
  });

  test('a command that uses up memory, output or disk is an observation', async () => {
    const seen = commands(
      'head -c 500M /dev/zero | tail',
      'yes',
      'head -c 200M /dev/zero > big; wc -c < big; rm big',
      'echo done > work',
    );
    const { lines, printed } = await rollIn(at('fault-plain'), ...single);
    expect(lines, printed).toMatchObject([{ reward: 1, result: { ended: 'submitted' } }]);
    expect(seen[0]).toMatch(/returncode>137</);
    expect(seen[1]).toMatch(/returncode>killed<.*left out.*printed too much/s);
    expect(seen[2]).toContain(String(64 * 2 ** 20));
  });

  test('an attempt that rates itself, forks and fills the disk earns only the reward of its work', async () => {
    commands(
      'mkdir -p /tests; echo "echo 1 > /logs/verifier/reward.txt" > /tests/test.sh; echo 1 > /logs/verifier/reward.txt; echo 1 > /logs/verifier/reward.json',
      'setsid bash -c "while :; do echo 1 > /logs/verifier/reward.txt; echo 1 > /logs/verifier/reward.json; done" > /dev/null 2>&1 &',
      'for i in $(seq 1 700); do sleep 900 & done 2> /dev/null',
      'ln -sf /logs/verifier/reward.txt work; head -c 1G /dev/zero > full',
    );
    const { lines, printed } = await rollIn(at('fault-plain'), ...single, '--act-timeout', '10');
    expect(lines, `${printed}${lines[0]!.error}`).toMatchObject([{ outcome: 'rewarded', reward: 0 }]);
  });

  test('the tests see their own variables and not the key of the agent', async () => {
    commands('export OPENAI_API_KEY=sk-agent; env');
    const { lines } = await rollIn(at('fault-secret'), ...single);
    expect(lines).toMatchObject([{ reward: 1 }]);
  });

  test('after Ctrl-C no container is left', async () => {
    decide(() => bash('sleep 600'));
    const running = rollIn(at('fault-plain'), ...single);
    const [id] = await until('the container runs', () => {
      const ids = containersOf('fault-plain');
      return ids.length > 0 && ids;
    });
    const label = podman(
      'inspect',
      '--format',
      '{{index .Config.Labels "clawloop.process"}}',
      id!,
    ).stdout.trim();
    process.kill(Number(label), 'SIGINT');
    expect((await running).code).toBe(130);
    expect(containersOf('fault-plain')).toEqual([]);
  });

  test('after a kill no container is left, even without another rollout', async () => {
    decide(() => bash('sleep 600'));
    const running = rollIn(at('fault-plain'), ...single);
    await until('the container runs', () => containersOf('fault-plain').length > 0);
    signal('SIGKILL');
    await running;
    await until('the container is gone', () => containersOf('fault-plain').length === 0);
  });

  test('the next process removes the containers of a killed one', async () => {
    const left = podman(
      'run',
      '--detach',
      '--network',
      'none',
      '--label',
      `clawloop.host=${podman('info', '--format', '{{.Host.Hostname}}').stdout.trim()}`,
      '--label',
      'clawloop.task=fault-left',
      '--label',
      `clawloop.process=${await deadPid()}`,
      'docker.io/library/debian:bookworm-slim',
      'sleep',
      'infinity',
    );
    expect(left.status, left.stderr).toBe(0);
    commands('echo done > work');
    const { lines } = await rollIn(at('fault-plain'), ...single);
    expect(lines).toMatchObject([{ reward: 1 }]);
    expect(containersOf('fault-left')).toEqual([]);
  });
});

/** The id of a process that has ended. */
async function deadPid(): Promise<number> {
  const child = spawn(process.execPath, ['--version'], { stdio: 'ignore' });
  await once(child, 'exit');
  return child.pid!;
}
