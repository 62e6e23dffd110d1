import { expect, test } from 'vitest';
import { describeWithOpenEnv } from './describe-with-openenv.ts';
import type { PolicyRequest } from './scripted-policy.ts';
import type { OpenEnvServer } from './start-server.ts';
import { withRollouts } from './with-rollouts.ts';

const firstWords = ({ messages }: PolicyRequest): string => messages[0]!.content ?? '';
const lastWords = ({ messages }: PolicyRequest): string => messages.at(-1)!.content ?? '';

describeWithOpenEnv('a rollout in a real OpenEnv server', () => {
  const { decide, open, roll, run } = withRollouts();

  test('tools are called, the environment rates the attempts, and they are compared', async () => {
    const server = await open('room', ['--kind', 'tools']);
    decide((request) => {
      const topic = /do the (\w+)/.exec(firstWords(request))?.[1];
      const costs = /costs (\d+), its delivery (\d+)/.exec(lastWords(request));
      if (request.step === 0) return { name: 'lookup', arguments: { topic } };
      if (request.step === 1)
        return { name: 'add', arguments: { a: Number(costs![1]), b: Number(costs![2]) } };
      const answer = request.conversation % 2 === 0 ? lastWords(request) : 'I do not know';
      return { name: 'submit', arguments: { answer } };
    });
    const { code, lines, printed } = await roll(server, '--n', '2', '--concurrency', '2');
    expect(code, printed).toBe(0);
    expect(lines.map(({ task }) => task)).toEqual(
      [0, 1, 2, 3].flatMap((index) => [`train-${index}`, `train-${index}`]),
    );
    for (const { reward, result } of lines) {
      expect([0, 1]).toContain(reward);
      expect(result).toMatchObject({ ended: 'done', steps: 3 });
    }
    expect(lines.filter(({ reward }) => reward === 1)).toHaveLength(4);
    for (const { reward, advantage, task } of lines) {
      const rewards = lines.filter((line) => line.task === task).map((line) => line.reward!);
      expect(advantage).toBeCloseTo(reward! - (rewards[0]! + rewards[1]!) / 2, 12);
    }
  });

  test('answers are actions if the environment takes text; used-up steps are rated as they stand', async () => {
    const server = await open('room', ['--kind', 'text']);
    decide(() => 'red');
    const { code, lines, printed } = await roll(server, '--n', '1', '--tasks', '2', '--max-steps', '2');
    expect(code, printed).toBe(0);
    expect(lines).toMatchObject([
      { task: 'train-0', reward: 1, result: { ended: 'done', steps: 1 } },
      { task: 'train-1', reward: 0, result: { ended: 'steps', steps: 2 } },
    ]);
  });

  test('a server with room for one environment is waited for', async () => {
    const server = await open('room', ['--kind', 'text', '--max-concurrent-envs', '1']);
    decide(() => 'red');
    const { code, lines, printed } = await roll(server, '--n', '4', '--tasks', '1');
    expect(code, printed).toBe(0);
    expect(lines.map(({ reward, earlier }) => [reward, earlier])).toEqual(Array(4).fill([1, []]));
  });

  test('an error, a hang and the end of the server are counted as such and never scored', async () => {
    const server = await open('room', ['--kind', 'text']);
    let says = '!raise';
    decide(() => says);
    const once = ['--n', '1', '--tasks', '1', '--retries', '1'];
    const raised = await roll(server, ...once);
    expect(raised.lines).toMatchObject([
      { outcome: 'environment-broken', reward: null, earlier: ['environment-broken'] },
    ]);
    expect(raised.lines[0]!.error).toMatch(/EXECUTION_ERROR/);
    expect(raised.printed).toMatch(/excluded 1 of 1 attempts/);

    says = '!hang';
    const hung = await roll(server, ...once, '--act-timeout', '1');
    expect(hung.lines).toMatchObject([{ outcome: 'environment-lost', reward: null }]);

    says = '!exit';
    const ended = await roll(server, ...once, '--room-timeout', '1');
    expect(ended.lines).toMatchObject([
      { outcome: 'environment-unavailable', reward: null, earlier: ['environment-lost'] },
    ]);
    expect([raised.code, hung.code, ended.code]).toEqual([1, 1, 1]);
  });

  test('a server that is killed in the middle of an episode loses it, and its successor takes the retry', async () => {
    const server = await open('room', ['--kind', 'text']);
    const port = Number(new URL(server.url).port);
    let restarted: Promise<OpenEnvServer> | undefined;
    decide(() => {
      restarted ??= server.kill().then(() => open('room', ['--kind', 'text'], port));
      return 'red';
    });
    const { code, lines, printed } = await roll(server, '--n', '1', '--tasks', '1');
    await restarted;
    expect(code, printed).toBe(0);
    expect(lines).toMatchObject([{ reward: 1, earlier: ['environment-lost'] }]);
  });

  test('a wrong address, split or range is refused before anything starts', async () => {
    const server = await open('room', ['--kind', 'text']);
    const refused = async (...flags: string[]) => {
      const { code, stderr } = await run('rollout', ...flags);
      return [code, stderr] as const;
    };
    const env = `openenv:${server.url}`;
    expect(await refused('--env', env, '--split', 'none')).toEqual([
      2,
      expect.stringMatching(/no split 'none'/),
    ]);
    expect(await refused('--env', env, '--tasks', '9')).toEqual([2, expect.stringMatching(/has 4 tasks/)]);
    const nobody = 'openenv:http://127.0.0.1:9';
    expect(await refused('--env', nobody)).toEqual([2, expect.stringMatching(/no OpenEnv server answers/)]);
    expect(await refused('--env', 'gym:x')).toEqual([2, expect.stringMatching(/--env must be/)]);
  });
});
