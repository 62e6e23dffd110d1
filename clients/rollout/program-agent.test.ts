import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { isRunning } from '../../shared/lang/is-running.ts';
import type { AgentInput } from './contract.ts';
import { programAgent } from './program-agent.ts';
import { kindsOf, roll } from './testing/roll.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'clawloop-program-'));
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await rm(folder, { recursive: true, force: true });
});

const input = (more: Partial<AgentInput> = {}): AgentInput => ({
  task: { id: 'tea', instruction: 'Make "tea" for $HOME' },
  baseUrl: 'http://127.0.0.1:8700',
  apiKey: 'sk-sess-1',
  session: 'tea-1',
  signal: new AbortController().signal,
  attempt: 2,
  seed: 7,
  ...more,
});
const agentOf = (command: string) => programAgent({ command, model: 'clawloop:bob' });
const outputOf = async (command: string, more?: Partial<AgentInput>) =>
  (await agentOf(command)(input(more))).stdout;

test('variables name the endpoint, the key of the session, the model and the task', async () => {
  const variables = new Map(
    (await outputOf('env')).split('\n').map((line) => line.split(/=(.*)/s, 2) as [string, string]),
  );
  const [url, key] = ['http://127.0.0.1:8700', 'sk-sess-1'];
  expect(Object.fromEntries(variables)).toMatchObject({
    OPENAI_BASE_URL: `${url}/v1`,
    OPENAI_API_BASE: `${url}/v1`,
    OPENAI_API_KEY: key,
    ANTHROPIC_BASE_URL: url,
    ANTHROPIC_API_KEY: key,
    MSWEA_API_KEY: key,
    MSWEA_COST_TRACKING: 'ignore_errors',
    CLAWLOOP_MODEL: 'clawloop:bob',
    CLAWLOOP_SESSION: 'tea-1',
    CLAWLOOP_ATTEMPT: '2',
    CLAWLOOP_SEED: '7',
    INSTRUCTION: 'Make "tea" for $HOME',
    TASK: '{"id":"tea","instruction":"Make \\"tea\\" for $HOME"}',
  });
});

test('no other variable of the rollout reaches the program, and a proxy does not get its requests', async () => {
  const secrets = [
    'OPENAI_API_KEY',
    'ANTHROPIC_AUTH_TOKEN',
    'CLAWLOOP_SERVING_API_KEY',
    'AWS_SECRET_ACCESS_KEY',
  ];
  for (const name of secrets) vi.stubEnv(name, 'of-the-parent');
  vi.stubEnv('NO_PROXY', 'example.org');
  const printed = await outputOf('env');
  expect(printed).not.toContain('of-the-parent');
  expect(printed).toMatch(/^NO_PROXY=example\.org,127\.0\.0\.1$/m);
  expect(printed).toMatch(/^PATH=./m);
});

test("the instruction is the environment's opening, or the task's text under a usual name", async () => {
  const says = (more: Partial<AgentInput>) => outputOf('printf %s "$INSTRUCTION"', more);
  expect(await says({ task: { question: 'Why?' } })).toBe('Why?');
  expect(await says({ task: 'Why?' })).toBe('Why?');
  expect(await says({ task: { text: 'Why?' } })).toBe('');
  const environment = {
    messages: [
      { role: 'system', content: 'You are in a room.' },
      { role: 'user', content: 'Leave.' },
    ],
    enter: ['env', "WHERE=it's inside"],
  } as unknown as AgentInput['environment'];
  expect(await says({ environment })).toBe('You are in a room.\n\nLeave.');
  const inside = `"$CLAWLOOP_EXEC" sh -c 'echo "$WHERE $HOME $0"' "a  b"; echo "$WHERE"`;
  expect(await outputOf(inside, { environment })).toBe(`it's inside ${process.env.HOME} a  b\n\n`);
});

test('a program that cannot act in an environment is an error, so its attempt is not scored', async () => {
  const environment = { messages: [] } as unknown as AgentInput['environment'];
  await expect(agentOf('true')(input({ environment }))).rejects.toThrow(/cannot act in this environment/);
});

test('each attempt has an empty home and an empty working folder, which are removed', async () => {
  const command = 'pwd; echo "$HOME"; echo "$TMPDIR"; ls -A . "$HOME" | grep -v : ; touch a "$HOME/b"';
  const [work, home, temporary, ...rest] = (await outputOf(command)).trim().split('\n');
  expect(new Set([work, home, temporary]).size).toBe(3);
  for (const path of [work, home, temporary]) expect(existsSync(path!)).toBe(false);
  expect(rest.filter(Boolean)).toEqual([]);
  expect(await outputOf('pwd')).not.toContain(work);
  expect(await outputOf('printf %s "$CLAWLOOP_STARTED_IN"')).toBe(process.cwd());
});

test('a program that fails is an error with the end of its output', async () => {
  const agent = agentOf('echo thinking; echo "no such model" >&2; exit 3');
  await expect(agent(input())).rejects.toThrow('the program ended with 3: no such model');
  await expect(agentOf('echo only this; false')(input())).rejects.toThrow('ended with 1: only this');
  await expect(agentOf('kill -KILL $$')(input())).rejects.toThrow('a signal ended the program');
  await expect(agentOf('no-such-program-at-all')(input())).rejects.toThrow(/ended with 127: .*not found/);
});

test('of long output, the end is kept', async () => {
  const { stdout, stderr } = await agentOf(
    'yes 0123456789 | head -c 300000; echo end; yes "é" | head -c 300000 >&2',
  )(input());
  expect(stdout).toHaveLength(20_000);
  expect(stdout.endsWith('end\n')).toBe(true);
  expect(stderr.length).toBeLessThanOrEqual(20_000);
});

test('a task that is too long is an error that names the variable', async () => {
  const task = { instruction: 'x'.repeat(200_000) };
  await expect(agentOf('true')(input({ task }))).rejects.toThrow(/INSTRUCTION, TASK .* 128 KiB/);
});

/** The process ids that a program writes to a file, one a line. */
async function idsIn(file: string, count: number): Promise<readonly number[]> {
  let ids: readonly number[] = [];
  await vi.waitFor(
    async () => {
      ids = (await readFile(file, 'utf8')).split('\n').filter(Boolean).map(Number);
      expect(ids).toHaveLength(count);
    },
    { timeout: 20_000 },
  );
  return ids;
}
const gone = (ids: readonly number[]) =>
  vi.waitFor(() => expect(ids.filter(isRunning)).toEqual([]), { timeout: 20_000 });

test('an abort ends the program and its child processes, even those that ignore SIGTERM', async () => {
  const file = join(folder, 'ids');
  const stubborn = `sh -c 'trap "" TERM; echo $$ >> ${file}; while :; do sleep 1; done'`;
  const stop = new AbortController();
  const running = agentOf(`${stubborn} & echo $$ >> ${file}; wait`)(input({ signal: stop.signal }));
  const ids = await idsIn(file, 2);
  stop.abort();
  await expect(running).rejects.toThrow();
  await gone(ids);
});

test('background processes of a program end with it', async () => {
  const file = join(folder, 'ids');
  const result = await agentOf(`sleep 600 & echo $! > ${file}; echo done`)(input());
  expect(result).toEqual({ stdout: 'done\n', stderr: '' });
  await gone(await idsIn(file, 1));
});

test('in a rollout, the reward function sees what the program printed; a failure is not scored', async () => {
  const { settled } = await roll({
    tasks: 1,
    n: 3,
    agent: agentOf('test "$CLAWLOOP_ATTEMPT" != 1 && echo "0.$CLAWLOOP_ATTEMPT"') as never,
    reward: ({ result }) => Number((result as { stdout: string }).stdout),
  });
  expect(kindsOf(settled)).toEqual([0, 'agent-threw', 0.2]);
});

test('at the time limit, the program is ended and the attempt is not scored', async () => {
  const file = join(folder, 'ids');
  const { settled } = await roll({
    tasks: 1,
    n: 1,
    timeoutMs: 500,
    agent: agentOf(`echo $$ > ${file}; sleep 600`) as never,
  });
  expect(kindsOf(settled)).toEqual(['agent-timed-out']);
  await gone(await idsIn(file, 1));
});

test('a rollout that is killed leaves no program and no folder behind', async () => {
  const file = join(folder, 'ids');
  const module = new URL('program-agent.ts', import.meta.url).href;
  const script = `import { programAgent } from '${module}';
    await programAgent(${JSON.stringify({ command: `echo $$ > ${file}; sleep 600`, model: 'm' })})(
      { ...${JSON.stringify(input())}, signal: new AbortController().signal });`;
  const rollout = spawn(process.execPath, ['--input-type=module', '--eval', script], {
    stdio: 'ignore',
    env: { ...process.env, TMPDIR: folder },
  });
  const ids = await idsIn(file, 1);
  expect(await readdir(folder)).toHaveLength(2);
  rollout.kill('SIGKILL');
  await gone(ids);
  expect(await readdir(folder)).toEqual(['ids']);
});
