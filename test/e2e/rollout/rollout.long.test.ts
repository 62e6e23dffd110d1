import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type ClawLoop, clawloop, startClawLoop, until } from '../harness/clawloop.ts';

const beside = (name: string) => fileURLToPath(new URL(name, import.meta.url));

type Line = {
  readonly task: string;
  readonly attempt: number;
  readonly outcome: string;
  readonly reward: number | null;
  readonly advantage: number | null;
  readonly session: string | null;
  readonly error: string | null;
  readonly result: string | null;
};
type Turn = {
  readonly session: string;
  readonly score?: number;
  readonly source?: string;
  readonly stage: { readonly kind: string; readonly reason?: string };
};

type Sample = { readonly session: string; readonly verdict: number; readonly advantage?: number };
const pick = ({ reward, advantage }: Line) => ({ reward, advantage });

/** The results so far. */
const linesIn = async (file: string): Promise<readonly Line[]> =>
  (await readFile(file, 'utf8').catch(() => ''))
    .split('\n')
    .filter((text) => text !== '')
    .map((text) => JSON.parse(text) as Line);

describe('a rollout on one machine', { timeout: 300_000 }, () => {
  let folder: string;
  let loop: ClawLoop;
  let lines: readonly Line[];
  const run = (...argv: string[]) => clawloop([...argv, '--data-folder', folder]);
  const turns = async (): Promise<readonly Turn[]> =>
    (await run('turns', 'list', '--json')).stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Turn);

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'clawloop-rollout-'));
    loop = await startClawLoop(folder);
  });
  afterAll(async () => {
    await loop?.stop();
    await rm(folder, { recursive: true, force: true });
  });

  test('two tasks, four attempts each: one throws, one hangs, the others are rewarded and compared', async () => {
    const data = join(folder, 'tasks.jsonl');
    const out = join(folder, 'results.jsonl');
    const tasks = [
      { id: 'pack', question: 'How do I pack for a weekend trip?', throws: 1 },
      { id: 'chess', question: 'How do I learn to play chess?', hangs: 2 },
    ];
    await writeFile(data, tasks.map((task) => JSON.stringify(task)).join('\n'));
    const { code, stdout, stderr } = await run(
      'rollout',
      '--agent',
      beside('agent.ts'),
      '--reward',
      beside('reward.ts'),
      '--data',
      data,
      '--n',
      '4',
      '--retries',
      '0',
      '--timeout',
      '20',
      '--seed',
      '3',
      '--out',
      out,
      '--url',
      loop.url,
    );
    expect(code, stderr + stdout).toBe(1);
    expect(stdout).toMatch(/rewarded +6 /);
    expect(stdout).toMatch(/agent-threw +1 /);
    expect(stdout).toMatch(/agent-timed-out +1 /);
    expect(stdout).toMatch(/1 calls did not end when their signal aborted/);
    expect(stderr).toMatch(/rollout \[#{24}] 100 % 8 of 8 attempts, 2 failed, mean reward -?\d/);

    lines = await linesIn(out);
    expect(lines.map(({ task, attempt, outcome }) => `${task} ${attempt} ${outcome}`).sort()).toEqual([
      'chess 0 rewarded',
      'chess 1 rewarded',
      'chess 2 agent-timed-out',
      'chess 3 rewarded',
      'pack 0 rewarded',
      'pack 1 agent-threw',
      'pack 2 rewarded',
      'pack 3 rewarded',
    ]);
    for (const task of ['pack', 'chess']) {
      const rewarded = lines.filter((line) => line.task === task && line.outcome === 'rewarded');
      const mean = rewarded.reduce((sum, { reward }) => sum + reward!, 0) / 3;
      for (const { reward, advantage, result } of rewarded) {
        expect(reward).toBeCloseTo(Math.max(-1, 1 - result!.length / 100), 12);
        expect(advantage).toBeCloseTo(reward! - mean, 12);
      }
    }
    expect(lines.find(({ outcome }) => outcome === 'agent-threw')).toMatchObject({
      reward: null,
      advantage: null,
      error: 'Error: the tool broke',
    });
  });

  test('the rewarded attempts become a version; the failed attempts do not train', async () => {
    await until('a new version is served', async () => {
      const response = await fetch(`${loop.url}/v1/models`);
      const { data } = (await response.json()) as { data: { id: string }[] };
      return data.some(({ id }) => id === 'clawloop@v1');
    });
    const failed = new Set(lines.filter(({ reward }) => reward === null).map(({ session }) => session));
    const all = await until('the failed ones are settled', async () => {
      const found = await turns();
      const open = found.filter(({ session, stage }) => failed.has(session) && stage.kind !== 'not-trained');
      return open.length === 0 && found;
    });
    expect(all).toHaveLength(8);
    for (const { session, stage, score, source } of all) {
      const line = lines.find((one) => one.session === session)!;
      if (failed.has(session)) expect(stage).toMatchObject({ kind: 'not-trained', reason: 'discarded' });
      else if (score !== undefined)
        expect({ score, source }).toEqual({ score: line.reward, source: 'reward' });
    }
    expect(failed.size).toBe(2);
    expect(all.some(({ stage }) => stage.kind === 'trained')).toBe(true);
    const tail = await run('topics', 'tail', 'training', '--type', 'sample.ready', '--json');
    const samples = tail.stdout
      .trim()
      .split('\n')
      .map((text) => (JSON.parse(text) as { event: { data: Sample } }).event.data);
    expect(samples.length).toBeGreaterThan(1);
    for (const { session, verdict, advantage } of samples)
      expect({ reward: verdict, advantage }).toEqual(pick(lines.find((line) => line.session === session)!));
    expect((await run('audit')).stdout).toMatch(/balances/);
  });

  test('the example of the page', async () => {
    const example = (name: string) => beside(`../../../examples/rollout/${name}`);
    const { code, stdout, stderr } = await run(
      'rollout',
      '--agent',
      example('agent.ts'),
      '--reward',
      example('reward.ts'),
      '--data',
      example('tasks.jsonl'),
      '--n',
      '2',
      '--url',
      loop.url,
    );
    expect(code, stderr + stdout).toBe(0);
    expect(stdout).toMatch(/rewarded +6 /);
  });

  test('a rollout whose server is gone says so, ends, and goes on when it is back', async () => {
    const [data, out] = [join(folder, 'many.jsonl'), join(folder, 'many-results.jsonl')];
    const tasks = Array.from({ length: 12 }, (_, n) =>
      JSON.stringify({ id: `t${n}`, question: `What is ${n}?` }),
    );
    await writeFile(data, tasks.join('\n'));
    const files = [
      '--agent',
      beside('agent.ts'),
      '--reward',
      beside('reward.ts'),
      '--data',
      data,
      '--out',
      out,
    ];
    const argv = ['rollout', ...files, '--n', '2', '--concurrency', '2'];
    const results = () => linesIn(out);
    // Longer than a step: until one is done, a server whose training is behind has no room.
    const rolling = run(...argv, '--room-timeout', '20', '--url', loop.url);
    await until('some attempts are settled', async () => (await results()).length >= 4, 30_000).catch(
      async (error: Error) => {
        throw new Error(`${error.message}: ${JSON.stringify(await rolling)}`);
      },
    );
    await loop.stop();
    const { code, stdout, stderr } = await rolling;
    expect(code, stderr + stdout).toBe(1);
    expect(stderr).toMatch(/does not answer \(.+\); trying again for 20 s\n/);
    expect(stderr).toMatch(/did not answer for 20 s \(.+\): the rollout ends\n/);
    expect(stdout).toMatch(/server-silent +\d+ [\s\S]*continue with --resume/);
    loop = await startClawLoop(folder);
    const resumed = await run(...argv, '--url', loop.url, '--resume');
    expect(resumed.code, resumed.stderr + resumed.stdout).toBe(0);
    const rewarded = (await results()).filter(({ outcome }) => outcome === 'rewarded');
    expect(rewarded, JSON.stringify(await results())).toHaveLength(24);
    expect(new Set(rewarded.map(({ task, attempt }) => `${task} ${attempt}`)).size).toBe(24);
    expect((await run('audit')).stdout).toMatch(/balances/);
  });

  test('an invalid module and an invalid server are refused', async () => {
    const data = join(folder, 'tasks.jsonl');
    const argv = (agent: string) => [
      'rollout',
      '--agent',
      agent,
      '--reward',
      beside('reward.ts'),
      '--data',
      data,
    ];
    expect(await run(...argv('nowhere.ts'))).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/cannot load \S*nowhere\.ts/),
    });
    expect(await run(...argv(beside('reward.ts')), '--url', loop.url)).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/reward\.ts exports no function; expected: export const agent/),
    });
    expect(await run(...argv(beside('agent.ts')), '--url', 'http://127.0.0.1:9')).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/nothing answers at http:\/\/127\.0\.0\.1:9/),
    });
  });
});
