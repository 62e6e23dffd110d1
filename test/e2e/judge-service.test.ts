import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, expect, test, vi } from 'vitest';
import { turnCompleted, turnFeedback, user } from '../../services/judge/testing/events.ts';
import type { ClawLoopEvent } from '../../shared/events/catalogue.ts';
import { openSqliteLog } from '../../shared/log/sqlite/open-sqlite-log.ts';
import { dataFolder } from '../../shared/runtime/data-folder.ts';
import { answersStatus, says, startJudgeServer } from './judge-server.ts';

const main = fileURLToPath(new URL('../../services/judge/main.ts', import.meta.url));
const until = (condition: () => unknown) => vi.waitFor(condition, { timeout: 40_000, interval: 20 });

const cleanups: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

/** A temporary data folder with a log, and the judge's facts as they appear in it. */
async function openWorkplace() {
  const folder = await mkdtemp(join(tmpdir(), 'clawloop-judge-'));
  cleanups.push(() => rm(folder, { recursive: true, force: true }));
  const log = await openSqliteLog({ folder: dataFolder(folder).log, partitions: 3, sessionTimeoutMs: 1000 });
  cleanups.push(() => log.close());
  const events: ClawLoopEvent[] = [];
  const stop = new AbortController();
  const following = log.follow('turns', {}, ({ event }) => events.push(event), { signal: stop.signal });
  cleanups.push(async () => {
    stop.abort();
    await following.done;
  });
  const of = (type: ClawLoopEvent['type']) => events.filter((event) => event.type === type);
  return { folder, log, of };
}

async function startJudge(folder: string, ...flags: string[]) {
  const child = spawn(
    process.execPath,
    [main, '--data-folder', folder, '--session-timeout-ms', '1000', '--health-port', '0', ...flags],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  let output = '';
  child.stdout.on('data', (chunk: Buffer) => {
    output += chunk.toString();
  });
  cleanups.push(() => kill(child));
  const port = await until(() => {
    const found = /"port":(\d+),"msg":"judging"/.exec(output)?.[1];
    expect(found).toBeDefined();
    return found;
  });
  return { child, health: `http://127.0.0.1:${port}`, output: () => output };
}

async function kill(child: ChildProcess, signal: NodeJS.Signals = 'SIGKILL') {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exit = once(child, 'exit');
  child.kill(signal);
  await exit;
}

/** A model behind an OpenAI API, whose exam is skipped. */
const asks = (url: string) => ['--kind', 'openai', '--exam', 'false', '--openai-base-url', url];
const impatient = ['--vote-backoff-ms', '10', '--vote-max-backoff-ms', '50', '--vote-timeout-ms', '5000'];

test("a turn is judged by the person's next message, and the service reports its state", async () => {
  const { folder, log, of } = await openWorkplace();
  const { child, health, output } = await startJudge(folder);
  await log.append([
    turnCompleted('good', { lane: 'a' }),
    turnCompleted('bad', { lane: 'b', next: [user('No lists, please.')] }),
    turnCompleted('unclear', { lane: 'c', next: [user('What is the capital of France?')] }),
  ]);
  await until(() => expect(of('judgment.reached')).toHaveLength(3));
  const judgments = of('judgment.reached').map(({ data }) => data);
  expect(judgments).toEqual(
    expect.arrayContaining([
      expect.objectContaining({ turnId: 'good', score: 1, needs: 1, hints: [] }),
      expect.objectContaining({ turnId: 'bad', score: -1, hints: ['No lists, please.'] }),
      expect.objectContaining({ turnId: 'unclear', score: 0, votes: [0] }),
    ]),
  );
  expect((await fetch(`${health}/healthz`)).status).toBe(200);
  expect((await fetch(`${health}/readyz`)).status).toBe(200);
  expect(await (await fetch(`${health}/metrics`)).text()).toMatch(
    /clawloop_judge_votes_total\{vote="-1",service="judge"\} 1/,
  );
  await kill(child, 'SIGTERM');
  expect(child.exitCode).toBe(0);
  expect(output()).not.toMatch(/capital|lists/);
});

test('a message of megabytes delays neither the other turns nor the health port', async () => {
  const { folder, log, of } = await openWorkplace();
  const { health } = await startJudge(folder);
  const long = ['-', '\n', '„', ' ‘'].map((piece) => user(`x${piece.repeat(1_500_000 / piece.length)}x`));
  await log.append([
    ...long.map((message, index) =>
      turnCompleted(`long-${index}`, { lane: 'a', messages: [message], next: [message] }),
    ),
    turnCompleted('good', { lane: 'b' }),
  ]);
  await until(() => expect(of('judgment.reached')).toHaveLength(5));
  expect(of('vote.failed')).toEqual([]);
  expect((await fetch(`${health}/healthz`)).status).toBe(200);
});

test('after a kill during a vote and a restart there is exactly one judgment', async () => {
  const { folder, log, of } = await openWorkplace();
  const hanging = () => {};
  const server = await startJudgeServer(says('\\boxed{1}'), hanging, hanging, says('\\boxed{1}'));
  cleanups.push(server.close);
  const flags = [...asks(server.baseUrl), '--hint-votes', '0', ...impatient];
  const first = await startJudge(folder, ...flags);
  await log.append([turnCompleted('t', { lane: 'a' })]);
  await until(() => expect(server.asked).toHaveLength(3));
  await until(() => expect(of('vote.cast')).toHaveLength(1));
  await kill(first.child);
  await startJudge(folder, ...flags);
  await until(() => expect(of('judgment.reached')).toHaveLength(1));
  expect(of('judgment.reached')[0]!.data).toMatchObject({ score: 1, votes: [1, 1, 1], source: 'votes' });
  // a later turn of the same lane passes through the fold after any second judgment
  await log.append([turnCompleted('after', { lane: 'a' })]);
  await until(() => expect(of('judgment.reached')).toHaveLength(2));
  expect(of('judgment.reached').map(({ id }) => id)).toEqual(['t/judgment', 'after/judgment']);
});

test('requests to an unavailable judge are retried; exhausted votes are visible and can be retried', async () => {
  const { folder, log, of } = await openWorkplace();
  let down = true;
  const server = await startJudgeServer((response, asked) =>
    (down ? answersStatus(503) : says('\\boxed{-1}'))(response, asked),
  );
  cleanups.push(server.close);
  const { health } = await startJudge(
    folder,
    ...asks(server.baseUrl),
    '--votes',
    '1',
    '--vote-attempts',
    '2',
    '--hint-votes',
    '0',
    ...impatient,
  );
  await log.append([turnCompleted('t', { lane: 'a' })]);
  const jobs = async () => (await fetch(`${health}/jobs`)).json();
  await until(async () =>
    expect(await jobs()).toEqual({
      queue: 'votes',
      counts: { waiting: 0, running: 0, delayed: 0, failed: 1 },
      failed: [{ id: 't/vote/0', attempts: 2, error: 'the judge answered with status 503' }],
    }),
  );
  expect(of('vote.cast')).toEqual([]);
  down = false;
  const retry = (id: string) =>
    fetch(`${health}/jobs/retry`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ id }),
    });
  expect((await retry('nothing')).status).toBe(404);
  expect((await retry('t/vote/0')).status).toBe(202);
  await until(() => expect(of('judgment.reached')).toHaveLength(1));
  expect(of('judgment.reached')[0]!.data).toMatchObject({ score: -1, source: 'votes' });
});

test('a model gets separate requests for verdict and hint; both are in the judgment', async () => {
  const { folder, log, of } = await openWorkplace();
  const hint = 'Answer in plain sentences.';
  const server = await startJudgeServer((response, asked) =>
    (asked.body.messages[1]!.content.includes('[HINT_START]')
      ? says(`[HINT_START]${hint}[HINT_END] \\boxed{1}`)
      : says('\\boxed{0}'))(response, asked),
  );
  cleanups.push(server.close);
  await startJudge(folder, ...asks(server.baseUrl), ...impatient);
  await log.append([turnCompleted('t', { lane: 'a' })]);
  await until(() => expect(of('judgment.reached')).toHaveLength(1));
  expect(of('judgment.reached')[0]!.data).toMatchObject({ score: 0, needs: 3, hints: [hint] });
  expect([of('vote.cast').length, of('hint.cast').length]).toEqual([3, 1]);
});

test('a turn without votes at the deadline is unavailable; feedback settles another turn immediately', async () => {
  const { folder, log, of } = await openWorkplace();
  const server = await startJudgeServer(() => {});
  cleanups.push(server.close);
  await startJudge(
    folder,
    ...asks(server.baseUrl),
    '--vote-deadline-ms',
    '400',
    '--sweep-ms',
    '50',
    ...impatient,
  );
  await log.append([turnCompleted('rated'), turnFeedback('rated', -1, 'f'), turnCompleted('t')]);
  await until(() => expect(of('judgment.reached')).toHaveLength(2));
  expect(of('judgment.reached').map(({ data }) => data)).toEqual([
    expect.objectContaining({ turnId: 'rated', score: -1, source: 'feedback' }),
    expect.objectContaining({ turnId: 't', score: null, source: 'unavailable', by: 't/expired' }),
  ]);
});
