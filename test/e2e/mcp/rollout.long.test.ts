import { readFileSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type ClawLoop, clawloop, startClawLoop } from '../harness/clawloop.ts';
import { type PolicyAnswer, type PolicyRequest, scriptedPolicy } from '../openenv/scripted-policy.ts';
import { describeWithMcpServers, realServer } from './install.ts';

type Line = {
  readonly task: string;
  readonly attempt: number;
  readonly reward: number | null;
  readonly earlier: readonly string[];
};

const reward = fileURLToPath(new URL('./calls-reward.ts', import.meta.url));

describeWithMcpServers('a rollout with the tools of an MCP server', () => {
  let folder: string;
  let loop: ClawLoop;
  let policy: Awaited<ReturnType<typeof scriptedPolicy>>;
  let answer: (request: PolicyRequest) => PolicyAnswer = () => '';
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'clawloop-mcp-'));
    policy = await scriptedPolicy((request) => answer(request));
    loop = await startClawLoop(folder, [
      '--serving-engine',
      'upstream',
      '--serving-upstream-url',
      policy.url,
      '--serving-upstream-token-ids',
      '--serving-upstream-logprobs',
      'raw',
      '--collector-batch-size',
      '1000',
    ]);
    await writeFile(
      join(folder, 'tasks.jsonl'),
      [
        { id: 'small', prompt: 'What is 1 + 2?', a: 1, b: 2 },
        { id: 'large', messages: [{ role: 'user', content: 'What is 30 + 40?' }], a: 30, b: 40 },
      ]
        .map((task) => JSON.stringify(task))
        .join('\n'),
    );
  });
  afterAll(async () => {
    await loop?.stop();
    await policy?.close();
    await rm(folder, { recursive: true, force: true });
  });

  let rollouts = 0;
  async function roll(mcpServers: object, ...flags: string[]) {
    const name = rollouts++;
    const servers = join(folder, `servers-${name}.json`);
    const out = join(folder, `results-${name}.jsonl`);
    await writeFile(servers, JSON.stringify({ mcpServers }));
    const own = ['--env', `mcp:${servers}`, '--seed', String(name), '--out', out, '--concurrency', '1'];
    const { code, stdout, stderr } = await clawloop([
      'rollout',
      ...own,
      ...flags,
      '--url',
      loop.url,
      '--data-folder',
      folder,
    ]);
    const lines = (await readFile(out, 'utf8').catch(() => '')).split('\n').filter(Boolean);
    return { code, printed: stdout + stderr, lines: lines.map((line) => JSON.parse(line) as Line) };
  }
  const complete = () => ['--data', join(folder, 'tasks.jsonl'), '--reward', reward];
  /** Calculates the sum of the task in the first of two attempts; guesses in the second. */
  const calculates = ({ conversation, step, messages }: PolicyRequest): PolicyAnswer => {
    if (step > 0 || conversation % 2 === 1) return 'Seventy, I think.';
    const [, a, b] = /(\d+) \+ (\d+)/.exec(messages[0]!.content!)!;
    return { name: 'get-sum', arguments: { a: Number(a), b: Number(b) } };
  };

  test('the reward function sees each call of a tool with its arguments and its result', async () => {
    answer = calculates;
    const { code, printed, lines } = await roll(
      { everything: realServer('everything') },
      ...complete(),
      '-n',
      '2',
    );
    expect(code, printed).toBe(0);
    expect(lines.map(({ task, reward }) => [task, reward])).toEqual([
      ['small', 1],
      ['small', 0],
      ['large', 1],
      ['large', 0],
    ]);
    expect((await clawloop(['audit', '--data-folder', folder])).stdout).toMatch(/balances/);
  });

  test('an attempt whose server is killed is repeated with a new server, and not scored meanwhile', async () => {
    const { command, args } = realServer('everything');
    const pids = join(folder, 'pids');
    const script = `echo $$ > ${pids}; exec "${command}" ${args[0]}`;
    let isKilled = false;
    answer = () => {
      if (!isKilled) process.kill(Number(readFileSync(pids, 'utf8')), 'SIGKILL');
      isKilled = true;
      return { name: 'get-sum', arguments: { a: 1, b: 2 } };
    };
    const flags = [...complete(), '-n', '1', '--max-steps', '1'];
    const { code, printed, lines } = await roll(
      { everything: { command: 'sh', args: ['-c', script] } },
      ...flags,
    );
    expect(code, printed).toBe(0);
    expect(lines).toMatchObject([
      { task: 'small', reward: 1, earlier: ['environment-lost'] },
      { task: 'large', reward: 0, earlier: [] },
    ]);
  });

  test('a missing part of a rollout with MCP is a usage error before the first attempt', async () => {
    const everything = realServer('everything');
    const tasks = ['--data', join(folder, 'tasks.jsonl')];
    const cases: readonly (readonly [object, readonly string[], RegExp])[] = [
      [{ everything }, tasks, /does not rate attempts: give --reward/],
      [{ everything }, ['--reward', reward], /have no tasks: give --data/],
      [{}, complete(), /names no server/],
      [{ absent: { command: '/nowhere/server' } }, complete(), /'absent': .*ENOENT/],
      [
        { open: { command: 'cat', env: { KEY: `\${CLAWLOOP_TEST_UNSET}` } } },
        complete(),
        /CLAWLOOP_TEST_UNSET/,
      ],
    ];
    for (const [servers, flags, reason] of cases) {
      const { code, printed } = await roll(servers, ...flags);
      expect([code, printed]).toEqual([2, expect.stringMatching(reason)]);
      expect(printed).not.toMatch(/\n\s+at /);
    }
  });
});
