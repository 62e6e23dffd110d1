import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { turnCompleted, user } from '../../services/judge/testing/events.ts';
import type { ClawLoopEvent } from '../../shared/events/catalogue.ts';
import type { HintCast } from '../../shared/events/hint-cast.ts';
import type { VoteCast } from '../../shared/events/vote-cast.ts';
import { openSqliteLog } from '../../shared/log/sqlite/open-sqlite-log.ts';
import { smallConfig } from '../../shared/policy/testing/model.ts';
import { dataFolder } from '../../shared/runtime/data-folder.ts';
import { readReport } from '../../shared/runtime/judge-exam.ts';
import { makeRandomModel } from '../fixtures/make-random-model.ts';
import { startHubServer } from './hub-server.ts';

const main = fileURLToPath(new URL('../../services/judge/main.ts', import.meta.url));
const until = (condition: () => unknown) => vi.waitFor(condition, { timeout: 50_000, interval: 20 });
const name = 'someone/judge';

/** Its prompts have some 3000 tokens of claw-nano's vocabulary. */
const tiny = { ...smallConfig, vocabularySize: 1024, maxPositions: 8192 };

let root = '';
let hub: Awaited<ReturnType<typeof startHubServer>>;
const cleanups: (() => Promise<unknown>)[] = [];
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'clawloop-judge-model-'));
  cleanups.push(() => rm(root, { recursive: true, force: true }));
  const source = join(root, 'source');
  await makeRandomModel(source, tiny, { dtype: 'F32' });
  const files = new Map<string, Buffer>();
  for (const file of await readdir(source)) files.set(file, await readFile(join(source, file)));
  const foreign = new Map([...files, ['config.json', Buffer.from('{"model_type":"mamba"}')] as const]);
  hub = await startHubServer({
    [name]: { commit: 'c'.repeat(40), files },
    'someone/mamba': { commit: 'd'.repeat(40), files: foreign },
  });
  cleanups.push(hub.close);
});
afterAll(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

/** A judge with these flags on a log of its own, with what it writes. */
async function startJudge(folder: string, ...flags: readonly string[]) {
  const data = join(root, folder);
  const log = await openSqliteLog({ folder: dataFolder(data).log, partitions: 1, sessionTimeoutMs: 1000 });
  const events: ClawLoopEvent[] = [];
  const stop = new AbortController();
  const following = log.follow('turns', {}, ({ event }) => void events.push(event), { signal: stop.signal });
  const common = ['--data-folder', data, '--partitions', '1', '--session-timeout-ms', '1000'];
  const ofHub = ['--hub-url', hub.url, '--hub-cache', join(root, 'cache')];
  const child = spawn(
    process.execPath,
    [main, ...common, '--health-port', '0', '--model-max-tokens', '6', ...ofHub, ...flags],
    { stdio: ['ignore', 'pipe', 'pipe'] },
  );
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += String(chunk)));
  const ended = once(child, 'exit');
  cleanups.push(async () => {
    child.kill('SIGKILL');
    await ended;
    stop.abort();
    await following.done;
    await log.close();
  });
  const of = <Type extends ClawLoopEvent['type']>(type: Type) =>
    events.filter((event): event is Extract<ClawLoopEvent, { type: Type }> => event.type === type);
  const end = async (): Promise<number | null> => {
    child.kill('SIGTERM');
    await ended;
    return child.exitCode;
  };
  return { data, log, of, end, child, ended, output: () => output };
}

const votesOf = (votes: readonly VoteCast[], turnId: string): readonly VoteCast['data'][] =>
  votes
    .map(({ data }) => data)
    .filter((data) => data.turnId === turnId)
    .sort((a, b) => a.index - b.index);

const complains = (turnId: string) => turnCompleted(turnId, { next: [user('No lists, please.')] });

test('a model of the hub judges in the judge: its votes differ, and come again as they were', async () => {
  const votesIn = async (folder: string) => {
    const judge = await startJudge(
      folder,
      '--judge-model',
      name,
      '--exam',
      'false',
      '--model-temperature',
      '1',
    );
    await judge.log.append([complains('turn')]);
    await until(() => expect(judge.of('judgment.reached')).toHaveLength(1));
    const health = /"port":(\d+),"msg":"judging"/.exec(judge.output())?.[1];
    expect((await fetch(`http://127.0.0.1:${health}/healthz`)).status).toBe(200);
    expect(await (await fetch(`http://127.0.0.1:${health}/metrics`)).text()).toMatch(
      /votes_total\{vote="null"/,
    );
    expect(await judge.end()).toBe(0);
    expect(judge.output()).toContain('judge loaded');
    expect(judge.output()).not.toContain('No lists');
    const hints: readonly HintCast[] = judge.of('hint.cast');
    return { votes: votesOf(judge.of('vote.cast'), 'turn'), hints };
  };
  const { votes, hints } = await votesIn('first');
  expect(votes).toHaveLength(3);
  for (const { text, cost, ...vote } of votes) {
    expect(vote).toMatchObject({ judge: 'model', model: name, vote: null });
    expect(text).not.toBe('');
    expect(cost.promptTokens).toBeGreaterThan(1000);
    expect(cost.completionTokens).toBeLessThanOrEqual(6);
  }
  expect(new Set(votes.map(({ text }) => text)).size).toBe(3);
  expect(hints[0]?.data).toMatchObject({ decision: null, judge: 'model', model: name });
  const again = await votesIn('second');
  expect(again.votes.map(({ text }) => text)).toEqual(votes.map(({ text }) => text));
  const weights = hub.served.filter(({ path, range }) => path.startsWith('/cdn/') && range !== 'bytes=0-0');
  expect(weights).toHaveLength(1);
});

test('a model that guesses fails its exam, and the ear judges in its place', async () => {
  const judge = await startJudge('exam', '--judge-model', name);
  await until(() => expect(judge.output()).toContain('ear judges instead; choose a larger model'));
  await judge.log.append([complains('turn')]);
  await until(() => expect(judge.of('judgment.reached')).toHaveLength(1));
  expect(judge.of('judgment.reached')[0]!.data).toMatchObject({ score: -1, votes: [-1, null, null] });
  expect(votesOf(judge.of('vote.cast'), 'turn')[0]).toMatchObject({ text: expect.stringMatching(/^ear: /) });
  expect(await readReport(judge.data)).toMatchObject({ judge: 'model', model: name, passed: false });
  expect(await judge.end()).toBe(0);
});

test('a model that answers no exchange in time fails its exam and is unloaded; the log says that it is too slow', async () => {
  const judge = await startJudge('slow', '--judge-model', name, '--exam-timeout-ms', '10');
  await until(() => expect(judge.output()).toContain('ear judges instead; it is too slow on this machine'));
  await judge.log.append([complains('turn')]);
  await until(() => expect(judge.of('judgment.reached')).toHaveLength(1));
  expect(judge.of('judgment.reached')[0]!.data).toMatchObject({ score: -1, votes: [-1, null, null] });
  expect(await readReport(judge.data)).toMatchObject({ judge: 'model', right: 0, passed: false });
  expect(await judge.end()).toBe(0);
});

test.each([
  ['someone/else', 'the hub has no model someone/else'],
  ['someone/mamba', 'mamba'],
  ['./no-such-folder', 'no model at'],
])('a judge model that cannot be loaded is refused at start: %s', async (model, reason) => {
  const judge = await startJudge(model.replaceAll('/', '-'), '--judge-model', model);
  await judge.ended;
  expect(judge.output()).toMatch(new RegExp(`clawloop judge: .*${reason}`));
  expect(judge.child.exitCode).toBe(2);
});
