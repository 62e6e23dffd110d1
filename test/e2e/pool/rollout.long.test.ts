import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { PolicyAnswer } from '../openenv/scripted-policy.ts';
import { withRollouts } from '../openenv/with-rollouts.ts';
import { guiTask, sweTask, terminalTask } from './attempts.ts';
import { guiPool } from './stand-ins/gui.ts';
import { swePool } from './stand-ins/swe.ts';
import { terminalPool } from './stand-ins/terminal.ts';

const shell = (command: string): PolicyAnswer => ({
  name: 'shell_exec',
  arguments: { id: 's', command, block: true },
});

describe('a rollout at a pool server', () => {
  const { decide, roll, run, signal } = withRollouts();
  const closing: (() => Promise<unknown>)[] = [];
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'clawloop-pool-'));
  });
  afterEach(async () => {
    for (const close of closing.splice(0)) await close();
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  const started = async <Pool extends { readonly kill: () => Promise<void> }>(
    pool: Promise<Pool>,
  ): Promise<Pool> => {
    const standIn = await pool;
    closing.push(standIn.kill);
    return standIn;
  };
  const dataOf = async (...rows: readonly object[]): Promise<string> => {
    const path = join(folder, `data-${Math.random()}.jsonl`);
    await writeFile(path, rows.map((row) => JSON.stringify(row)).join('\n'));
    return path;
  };
  const rollAt = async (kind: string, url: string, rows: readonly object[], ...flags: string[]) =>
    roll({ url }, '--env', `pool:${url}`, '--pool-kind', kind, '--data', await dataOf(...rows), ...flags);

  test('two attempts in a terminal are scored by the pool and compared', async () => {
    const pool = await started(terminalPool());
    decide(({ step, conversation }) =>
      step === 0
        ? shell('echo hello > a.txt')
        : step === 1 && conversation === 0
          ? shell('echo hello > b.txt')
          : 'Done.',
    );
    const { code, lines, printed } = await rollAt(
      'terminal',
      pool.url,
      [terminalTask],
      '--n',
      '2',
      '--concurrency',
      '1',
    );
    expect(code, printed).toBe(0);
    expect(lines.map(({ task, reward, advantage }) => [task, reward, advantage])).toEqual([
      ['hello', 1, 0.25],
      ['hello', 0.5, -0.25],
    ]);
    expect([pool.open(), pool.count('/close')]).toEqual([0, 2]);
  });

  test('a pool that is killed in the middle of an attempt loses it, and its successor takes the retry', async () => {
    const pool = await started(terminalPool());
    const port = Number(new URL(pool.url).port);
    let successor: ReturnType<typeof terminalPool> | undefined;
    decide(({ step }) => {
      successor ??= pool.kill().then(() => started(terminalPool({ port })));
      return step === 0 ? shell('echo hello > a.txt') : 'Done.';
    });
    const { code, lines, printed } = await rollAt('terminal', pool.url, [terminalTask], '--n', '1');
    expect(code, printed).toBe(0);
    expect(lines).toMatchObject([{ reward: 0.5, earlier: ['environment-lost'] }]);
    expect((await successor!).open()).toBe(0);
  });

  test('failures are counted by cause and not scored, and a lease that could not be closed is named', async () => {
    const pool = await started(terminalPool());
    decide(({ step }) => {
      if (step === 1) pool.faults(({ path }) => (path === '/allocate' ? undefined : { kind: 'drop' }));
      return shell('echo hello > a.txt');
    });
    const { code, lines, printed } = await rollAt(
      'terminal',
      pool.url,
      [terminalTask],
      '--n',
      '1',
      '--retries',
      '0',
    );
    expect(code).toBe(1);
    expect(lines).toMatchObject([{ outcome: 'environment-lost', reward: null, advantage: null }]);
    expect(printed).toMatch(/environment-lost +1 /);
    expect(printed).toMatch(/excluded 1 of 1 attempts/);
    expect(printed).toMatch(/1 leases could not be closed at the pool server, the last: run-/);
  });

  test('a rollout that is interrupted while a command runs gives its leases back', async () => {
    const pool = await started(terminalPool());
    const over = Promise.withResolvers<void>();
    pool.faults(({ path }) => {
      if (path !== '/exec_tool') return undefined;
      signal('SIGINT');
      return { kind: 'wait', until: over.promise };
    });
    decide(() => shell('echo hello > a.txt'));
    const { code, lines } = await rollAt('terminal', pool.url, [terminalTask], '--n', '1');
    over.resolve();
    expect(code).toBe(130);
    expect(lines).toMatchObject([{ outcome: 'interrupted', reward: null }]);
    expect(pool.open()).toBe(0);
  });

  test('a repository is repaired with the tool bash', async () => {
    const pool = await started(swePool());
    decide(({ step }) =>
      step === 0 ? { name: 'bash', arguments: { command: 'echo fixed > sum.py' } } : 'Done.',
    );
    const { code, lines, printed } = await rollAt('swe', pool.url, [sweTask], '--n', '1');
    expect(code, printed).toBe(0);
    expect(lines).toMatchObject([{ task: 'ann__calc-7', reward: 1 }]);
    expect(pool.open()).toBe(0);
  });

  test('a desktop is used by its accessibility tree; one with pictures only is refused', async () => {
    const pool = await started(guiPool());
    decide(({ step }) =>
      step === 0 ? { name: 'click', arguments: { x: 100, y: 200 } } : { name: 'done', arguments: {} },
    );
    const { code, lines, printed } = await rollAt('gui', pool.url, [guiTask], '--n', '1');
    expect(code, printed).toBe(0);
    expect(lines).toMatchObject([{ task: 'save-it', reward: 1, result: { ended: 'done' } }]);

    const pictures = await started(guiPool({ hasTree: false }));
    const refused = await rollAt('gui', pictures.url, [guiTask], '--n', '2');
    expect(refused.code).toBe(2);
    expect(refused.printed).toMatch(/screenshots only; ClawLoop serves no vision model yet/);
    expect(pictures.open()).toBe(0);
  });

  test('wrong flags, data and addresses are refused before anything starts', async () => {
    const pool = await started(terminalPool());
    const env = `pool:${pool.url}`;
    const data = await dataOf(terminalTask);
    const refused = async (...flags: string[]) => {
      const { code, stderr } = await run('rollout', ...flags);
      return [code, stderr] as const;
    };
    const usage = (text: RegExp) => [2, expect.stringMatching(text)];
    expect(await refused('--env', env, '--data', data)).toEqual(
      usage(/needs --pool-kind terminal, gui or swe/),
    );
    expect(await refused('--env', env, '--pool-kind', 'terminal')).toEqual(usage(/name them with --data/));
    expect(await refused('--env', env, '--pool-kind', 'swe', '--data', data)).toEqual(
      usage(/task-1 is not a task of a swe pool: instance_id/),
    );
    expect(await refused('--env', 'openenv:http://127.0.0.1:9', '--pool-kind', 'swe')).toEqual(
      usage(/--pool-kind needs --env pool:/),
    );
    expect(
      await refused('--env', 'pool:http://127.0.0.1:9', '--pool-kind', 'terminal', '--data', data),
    ).toEqual(usage(/no pool server answers at http:\/\/127.0.0.1:9/));
    expect(pool.calls).toEqual([]);
  });
});
