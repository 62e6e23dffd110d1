import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { InteractionCompleted } from '../../shared/events/interaction-completed.ts';
import { SessionStarted } from '../../shared/events/session-started.ts';
import { TurnSkipped } from '../../shared/events/turn-skipped.ts';
import { openSqliteLog } from '../../shared/log/sqlite/open-sqlite-log.ts';
import { dataFolder } from '../../shared/runtime/data-folder.ts';
import { clawloop } from '../../test/e2e/harness/clawloop.ts';

/** Changes the window's title, clears the window, fills the clipboard, and changes colour and text direction. */
const hostile = 'a\u001b]0;PWNED\u0007\u001b[2J\u001b]52;c;cHduZWQ=\u0007\u009b31m\r\u202eb';
const origin = (id: string) => ({ id, source: 'clawloop/test', time: '2026-01-01T00:00:00.000Z' });

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'clawloop-hostile-'));
  const log = await openSqliteLog({ folder: dataFolder(folder).log });
  const [interactionId, lane, key] = ['a', 'lane', 'key'];
  await log.append([
    SessionStarted.create({
      ...origin('started'),
      data: { lane, key, session: hostile, task: hostile, settle: 'votes' },
    }),
    InteractionCompleted.create({
      ...origin(interactionId),
      data: {
        interactionId,
        requestId: hostile,
        api: 'chat',
        lane,
        key,
        adapter: 'default',
        user: hostile,
        live: true,
        settle: 'votes',
        model: hostile,
        version: 0,
        engine: 'local',
        tokens: null,
        messages: [{ role: 'user', content: hostile }],
        answer: { role: 'assistant', content: hostile },
        sampling: { temperature: 1, topP: 1, topK: 0, maxTokens: 64 },
        finishReason: 'stop',
        disconnected: false,
        timing: { startedAt: origin('a').time, firstTokenMs: 1, totalMs: 2 },
        usage: { promptTokens: 2, completionTokens: 2 },
      },
    }),
    TurnSkipped.create({
      ...origin('a/skipped'),
      data: { turnId: interactionId, lane, session: hostile, reason: 'secret', rule: hostile, by: 'a' },
    }),
  ]);
  await log.close();
});
afterAll(() => rm(folder, { recursive: true, force: true }));

test.each([
  [['turns', 'list', '--why'], 0],
  [['turns', 'list', '--json'], 0],
  [['sessions', 'list'], 0],
  [['sessions', 'list', '--json'], 0],
  [['sessions', 'show', hostile], 0],
  [['sessions', 'show', `${hostile}, a stranger`], 2],
  [['topics', 'tail', '--last', '10'], 0],
  [['topics', 'tail', '--last', '10', '--json'], 0],
  [['turns', hostile], 2],
] as const)('what clients wrote drives no terminal: %j', async (words, expected) => {
  const { code, stdout, stderr } = await clawloop([...words, '--data-folder', folder]);
  expect(code, stderr).toBe(expected);
  expect(stdout + stderr).toContain('PWNED');
  expect(stdout + stderr).not.toMatch(/[^\P{Cc}\n\t]|\u202e/u);
  if ((words as readonly string[]).includes('--json') && words[0] !== 'topics')
    expect(JSON.stringify(JSON.parse(stdout))).toContain(JSON.stringify(hostile).slice(1, -1));
});
