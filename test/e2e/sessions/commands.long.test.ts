import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { defined } from '../../../shared/lang/defined.ts';
import { type ClawLoop, clawloop, startClawLoop, until } from '../harness/clawloop.ts';

const ACCESS_KEY = 'the-access-key-of-this-test';
const cli = fileURLToPath(new URL('../../../services/cli/main.ts', import.meta.url));

// a dozen processes in order, each of which starts slowly on a busy machine
describe('the session protocol by commands', { timeout: 150_000 }, () => {
  let folder: string;
  let loop: ClawLoop;
  const run = (argv: readonly string[], sessionKey = '') =>
    clawloop([...argv, '--url', loop.url, '--data-folder', folder], {
      CLAWLOOP_SERVING_API_KEY: ACCESS_KEY,
      ...defined({ CLAWLOOP_SESSION_KEY: sessionKey === '' ? undefined : sessionKey }),
    });
  const look = async (...argv: string[]) => {
    const { code, stdout, stderr } = await clawloop([...argv, '--data-folder', folder]);
    expect(code, stderr).toBe(0);
    return stdout;
  };
  const ask = async (key: string) => {
    const response = await fetch(`${loop.url}/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        model: 'clawloop',
        messages: [{ role: 'user', content: 'What is a good breakfast?' }],
        max_tokens: 60,
      }),
    });
    expect(response.status).toBe(200);
    return ((await response.json()) as { id: string }).id;
  };
  type Shown = { session_id: string; state: string; rewards: { interaction_id: string; reward: number }[] };
  const atServer = async () => {
    const response = await fetch(`${loop.url}/rl/sessions`, {
      headers: { authorization: `Bearer ${ACCESS_KEY}` },
    });
    return ((await response.json()) as { data: Shown[] }).data;
  };

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'clawloop-sessions-'));
    loop = await startClawLoop(folder, ['--api-key', ACCESS_KEY]);
  });
  afterAll(async () => {
    await loop?.stop();
    await rm(folder, { recursive: true, force: true });
  });

  test('start, reward, end, and again under the same key', async () => {
    const started = await run(['sessions', 'start', '--task', 'cook', '--json']);
    expect(started.code, started.stderr).toBe(0);
    const { session_id, api_key, base_url } = JSON.parse(started.stdout) as Record<string, string>;
    expect({ session_id, api_key, base_url }).toEqual({
      session_id: expect.stringMatching(/^cook-/),
      api_key: expect.stringMatching(/^sk-sess-/),
      base_url: loop.url,
    });
    const first = await ask(api_key!);
    const second = await ask(api_key!);
    expect((await run(['sessions', 'reward', '-0.5'], api_key)).stdout).toBe(`-0.5 for ${second}\n`);
    const other = await run(['sessions', 'reward', '1', '--interaction', first], api_key);
    expect(other.stdout).toBe(`1 for ${first}\n`);
    expect(await run(['sessions', 'reward', '2'], api_key)).toMatchObject({
      code: 2,
      stdout: '',
      stderr: expect.stringMatching(/'reward'/),
    });
    expect((await atServer())[0]!.rewards.map(({ reward }) => reward).sort()).toEqual([-0.5, 1]);

    const listed = await run(['sessions', 'list', '--key', ACCESS_KEY]);
    expect(listed.stdout).toMatch(new RegExp(`${session_id} +cook +2 +(?:-0.5 1|1 -0.5) .* open`));
    const refusedList = await run(['sessions', 'list', '--key', 'another-key']);
    expect(refusedList).toMatchObject({ code: 2, stdout: '' });

    const again = await run(['sessions', 'start', '--refresh', api_key!]);
    expect(again.stdout).toMatch(/^session +cook-/); // the task of the previous session
    expect(again.stdout).toContain(`key      ${api_key}`);
    expect(again.stdout).toContain(`export OPENAI_BASE_URL=${loop.url}/v1`);
    expect(again.stdout + started.stdout).not.toContain(ACCESS_KEY);
    expect((await run(['sessions', 'end', '--discard'], api_key)).stdout).toMatch(/^ended after 0 answers/);
    const lost = JSON.parse((await run(['sessions', 'start', '--json'])).stdout) as Record<string, string>;
    expect((await run(['sessions', 'end', lost.session_id!, '--discard'])).stdout).toMatch(/^ended after 0 /);
    expect(await run(['sessions', 'reward'], api_key)).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/has ended/),
    });
    await until('the list shows both', async () => {
      const list = await look('sessions', 'list');
      return list.split('\n').filter((line) => / cook +/.test(line)).length === 2;
    });
  });

  test('a missing key, a word instead of a number, and an invalid server are refused', async () => {
    expect(await run(['sessions', 'end'])).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/CLAWLOOP_SESSION_KEY/),
    });
    expect(await run(['sessions', 'reward', 'good'], 'sk-sess-x')).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/a number from -1 to 1, not 'good'/),
    });
    expect(await clawloop(['sessions', 'start', '--url', 'http://127.0.0.1:9'])).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/no answer from http:\/\/127\.0\.0\.1:9/),
    });
  });

  test('the demonstration, from the start to its version', async () => {
    const { code, stdout, stderr } = await run(['demo', 'lifecycle', '--wait', '45']);
    expect(code, stdout + stderr).toBe(0);
    const steps = stdout.split('\n').map((line) => line.slice(0, 18).trim());
    expect(steps.filter((step) => step !== '')).toEqual([
      'server',
      'start_session',
      'chat/completions',
      'chat/completions',
      'chat/completions',
      'set_reward',
      'set_reward',
      'sessions',
      'start_session',
      'chat/completions',
      'set_reward',
      'end_session',
      ...Array(4).fill('sessions export'),
      'new version',
    ]);
    expect(stdout).toMatch(/^sessions +open, 3 answers, rewards -0\.5, 1$/m);
    expect(stdout).toMatch(/^sessions export +demo-task-\w+: \d+ tokens, \d+ of them sampled, return 0\.5$/m);
    expect(stdout).toMatch(/^new version +v\d/m);
    expect(stdout).not.toContain(ACCESS_KEY);
  });

  test('Ctrl-C discards the open session of the demonstration', async () => {
    const child = spawn(
      process.execPath,
      [
        '--disable-warning=ExperimentalWarning',
        cli,
        'demo',
        'lifecycle',
        '--url',
        loop.url,
        '--key',
        ACCESS_KEY,
      ],
      { stdio: ['ignore', 'pipe', 'pipe'] },
    );
    let said = '';
    child.stdout.on('data', (chunk: Buffer) => (said += chunk.toString()));
    child.stderr.on('data', (chunk: Buffer) => (said += chunk.toString()));
    const session = await until('a session began', () => /start_session +(demo-task-\w+)/.exec(said)?.[1]);
    child.kill('SIGINT');
    const [code] = (await once(child, 'exit')) as [number | null];
    expect(code, said).toBe(130);
    const tail = await look('topics', 'tail', 'conversations', '--type', 'session.ended', '--json');
    const ends = tail
      .trim()
      .split('\n')
      .map((line) => (JSON.parse(line) as { event: { data: object } }).event.data);
    expect(ends).toContainEqual(expect.objectContaining({ session, discard: true }));
  });
});
