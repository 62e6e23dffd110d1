import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import type { PolicyAnswer, PolicyRequest } from '../openenv/scripted-policy.ts';
import { withRollouts } from '../openenv/with-rollouts.ts';
import { describeWithMiniWob } from './describe-with-miniwob.ts';
import { pagesFolder } from './install.ts';
import { ownBrowser } from './own-browser.ts';
import { readObservation, solvers } from './solvers.ts';

const env = `miniwob:${pagesFolder}`;

/** Solves the page of a conversation from its last message. */
function solve(page: string, { messages }: PolicyRequest): PolicyAnswer {
  const { goal, lines } = readObservation(messages.at(-1)!.content ?? '');
  return solvers[page]!(goal, lines);
}

describeWithMiniWob('a rollout in web pages', () => {
  const { decide, rollIn, run } = withRollouts();
  const folder = mkdtempSync(join(tmpdir(), 'clawloop-miniwob-'));
  afterAll(() => rmSync(folder, { recursive: true }));

  test('the page rates the attempts, which are compared, and the audit balances', async () => {
    decide((request) => (request.conversation % 2 === 0 ? solve('login-user', request) : 'I give up.'));
    const flags = ['--split', 'login-user', '--tasks', '2', '--n', '2', '--concurrency', '1'];
    const { code, lines, printed } = await rollIn(env, ...flags);
    expect(code, printed).toBe(0);
    expect(lines).toMatchObject(
      ['login-user-0', 'login-user-1'].flatMap((task) => [
        { task, reward: 1, advantage: 0.5, result: { ended: 'done', steps: 3 } },
        { task, reward: 0, advantage: -0.5, result: { ended: 'answer', steps: 1 } },
      ]),
    );
    expect((await run('audit')).stdout).toMatch(/balances/);
  });

  test('mistakes of the policy are observations, and a wrong end costs the reward of the page', async () => {
    const seen: string[] = [];
    const calls = [
      { name: 'click', arguments: { ref: 99 } },
      { name: 'fill', arguments: { ref: 1, text: 'x' } },
      { name: 'select', arguments: { ref: 1, option: 'x' } },
      { name: 'click', arguments: {} },
      { name: 'press', arguments: { key: 'Anykey' } },
      { name: 'click', arguments: { ref: 2 } },
    ];
    decide(({ step, messages }) => {
      seen.push(messages.at(-1)!.content ?? '');
      return calls[step]!;
    });
    const { lines, printed } = await rollIn(env, '--split', 'click-test-2', '--n', '1');
    expect(lines, printed).toMatchObject([{ outcome: 'rewarded', reward: -1, result: { steps: 6 } }]);
    expect(seen.slice(1)).toEqual([
      'There is no element 99.',
      'Element 1 takes no text.',
      'Element 1 has no option "x".',
      expect.stringContaining('ref'),
      'Unknown key: "Anykey"',
    ]);
  });

  test('a browser that is killed in the middle of an episode loses it, and the retry gets another', async () => {
    const browser = ownBrowser(folder);
    let kills = 1;
    decide((request) => {
      if (kills-- > 0) browser.kill();
      return solve('click-test-2', request);
    });
    const flags = ['--split', 'click-test-2', '--n', '1', '--browser', browser.path];
    const { code, lines, printed } = await rollIn(env, ...flags);
    expect(code, printed).toBe(0);
    expect(lines).toMatchObject([{ reward: 1, earlier: ['environment-lost'] }]);
    kills = 1;
    const last = await rollIn(env, ...flags, '--retries', '0');
    expect(last.lines).toMatchObject([{ outcome: 'environment-lost', reward: null, advantage: null }]);
    expect(last.printed).toMatch(/excluded 1 of 1 attempts/);
    expect((await run('audit')).stdout).toMatch(/balances/);
  });

  test('a data file names pages and seeds', async () => {
    const data = join(folder, 'tasks.jsonl');
    writeFileSync(data, '{"id":"one","page":"click-test-2","seed":3}\n{"id":"two","page":"no-such-page"}\n');
    decide((request) => solve('click-test-2', request));
    const { lines } = await rollIn(env, '--data', data, '--n', '1');
    expect(lines).toMatchObject([
      { task: 'one', reward: 1 },
      { task: 'two', outcome: 'environment-broken', reward: null },
    ]);
    expect(lines[1]!.error).toMatch(/a task must name a page/);
  });

  test('a missing folder, page or browser is refused before anything starts', async () => {
    const refusal = async (...flags: readonly string[]) => {
      const { code, stderr } = await run('rollout', ...flags);
      expect(code).toBe(2);
      return stderr;
    };
    expect(await refusal('--env', `miniwob:${folder}`)).toMatch(/pip install/);
    expect(await refusal('--env', env, '--split', 'none')).toMatch(/the page 'none'/);
    expect(await refusal('--env', env, '--browser', '/none')).toMatch(/--browser \/none is not a program/);
    const [broken] = [await rollIn(env, '--split', 'click-test', '--browser', '/bin/false')];
    expect([broken.code, broken.printed]).toEqual([2, expect.stringMatching(/\/bin\/false did not start/)]);
    expect(broken.printed).not.toMatch(/ at .*\.(ts|js):/);
  });
});
