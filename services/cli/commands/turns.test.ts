import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { InteractionCompleted } from '../../../shared/events/interaction-completed.ts';
import { TurnSkipped } from '../../../shared/events/turn-skipped.ts';
import { openSqliteLog } from '../../../shared/log/sqlite/open-sqlite-log.ts';
import { dataFolder } from '../../../shared/runtime/data-folder.ts';
import { clawloop } from '../../../test/e2e/harness/clawloop.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'clawloop-turns-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const origin = (id: string) => ({ id, source: 'clawloop/test', time: '2026-01-01T00:00:00.000Z' });
const token = `gh${'p_'}aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5`;
const completed = InteractionCompleted.create({
  ...origin('a'),
  data: {
    interactionId: 'a',
    requestId: 'r',
    api: 'chat',
    lane: 'lane',
    key: 'key',
    adapter: 'default',
    live: true,
    settle: 'votes',
    model: 'clawloop',
    version: 0,
    engine: 'local',
    tokens: null,
    messages: [{ role: 'user', content: `my token ${token}` }],
    answer: { role: 'assistant', content: `is it ${token}?` },
    sampling: { temperature: 1, topP: 1, topK: 0, maxTokens: 64 },
    finishReason: 'stop',
    disconnected: false,
    timing: { startedAt: origin('a').time, firstTokenMs: 1, totalMs: 2 },
    usage: { promptTokens: 2, completionTokens: 2 },
  },
});
const skipped = TurnSkipped.create({
  ...origin('a/skipped'),
  data: {
    turnId: 'a',
    lane: 'lane',
    session: 's',
    reason: 'secret',
    rule: 'github-token@1',
    by: 'a',
    disagreement: { turn: { type: 'side', rule: 'heartbeat' } },
  },
});

test('turns list --why names the kind of a secret, but never shows it', async () => {
  const log = await openSqliteLog({ folder: dataFolder(folder).log });
  await log.append([completed, skipped]);
  await log.close();
  const { code, stdout } = await clawloop(['turns', 'list', '--why', '--data-folder', folder]);
  expect(code).toBe(0);
  expect(stdout).toContain('github-token@1: not heartbeat');
  expect(stdout).toContain('content contradicts what the client sent about them: 1');
  expect(stdout).toContain('my token (removed: github-t');
  expect(stdout).toContain('not trained: secret');
  expect(stdout).not.toContain(token.slice(0, 12));
});

test('with several adapters, turns show theirs and can be filtered by it', async () => {
  const log = await openSqliteLog({ folder: dataFolder(folder).log });
  const { data } = completed;
  await log.append([
    InteractionCompleted.create({ ...origin('b'), data: { ...data, interactionId: 'b', adapter: 'bob' } }),
  ]);
  await log.close();
  const list = async (...flags: readonly string[]) =>
    (await clawloop(['turns', 'list', '--data-folder', folder, ...flags])).stdout;
  expect(await list()).toMatch(/ default 0 .*\n.* bob 0 /);
  expect(await list('--adapters', 'bob')).not.toMatch(/default|bob 0/);
  expect(JSON.parse(await list('--adapters', 'bob', '--json'))).toMatchObject({
    turnId: 'b',
    adapter: 'bob',
  });
});

test('turns withdraw refuses an unknown id and reports its effect on known ones', async () => {
  const withdraw = (...more: readonly string[]) =>
    clawloop(['turns', 'withdraw', ...more, '--data-folder', folder]);
  expect(await withdraw('nobody')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('no turn nobody'),
  });
  expect(await withdraw()).toMatchObject({ code: 2 });
  expect(await withdraw('a')).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('does not train in any case: secret'),
  });
});
