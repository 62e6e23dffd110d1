import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import OpenAI from 'openai';
import { expect, test } from 'vitest';
import { InteractionFailed } from '../../shared/events/interaction-failed.ts';
import { sum } from '../../shared/lang/numbers.ts';
import type { EventLog } from '../../shared/log/event-log.ts';
import { openSqliteLog } from '../../shared/log/sqlite/open-sqlite-log.ts';
import { dataFolder } from '../../shared/runtime/data-folder.ts';
import { chatAndReact } from './harness/chat-and-react.ts';
import { until } from './harness/clawloop.ts';
import { loopOnFolder } from './harness/loop-on-folder.ts';

const flags = ['--collector-batch-size', '4', '--collector-sweep-ms', '200'];
const on = loopOnFolder();

const ask = async (messages: OpenAI.ChatCompletionMessageParam[]): Promise<string> => {
  const client = new OpenAI({ baseURL: `${on.loop.url}/v1`, apiKey: 'none', maxRetries: 0 });
  const { choices } = await client.chat.completions.create({ model: 'clawloop', messages, max_tokens: 160 });
  return choices[0]?.message.content ?? '';
};
async function withLog<Result>(use: (log: EventLog) => Promise<Result>): Promise<Result> {
  const log = await openSqliteLog({ folder: dataFolder(on.folder).log });
  try {
    return await use(log);
  } finally {
    await log.close();
  }
}
/** Number of records that were removed. */
const removed = () => withLog(async (log) => sum(await log.starts('conversations')));
const trained = (version: number) =>
  until(
    `version ${version} is the head`,
    async () => new RegExp(`^v${version} .* head `, 'm').test(await on.run('policy', 'list')),
    150_000,
  );

/** Old records that nothing needs: requests that failed. */
const failures = (count: number) =>
  Array.from({ length: count }, (_, n) =>
    InteractionFailed.create({
      id: `failed-${n}`,
      source: 'clawloop/serving',
      time: '2026-01-01T00:00:00Z',
      data: {
        interactionId: `failed-${n}`,
        requestId: `request-${n}`,
        lane: `old-${n % 12}`,
        key: 'local',
        adapter: 'default',
        code: 'engine_failed',
        message: 'the engine failed',
      },
    }),
  );

test('a system chats, trains, audits and replays after a trim, also when it starts without stored states', async () => {
  await withLog(async (log) => {
    for (const event of failures(120)) await log.append([event]);
  });
  await on.start(...flags);
  await chatAndReact(ask);
  await trained(1);
  const digests = await on.run('replay');

  expect(await on.run('trim', '--keep', '0s', '--dry-run')).toContain('would begin at');
  expect(await removed()).toBe(0);
  await on.run('trim', '--keep', '0s'); // beside the running services
  const first = await removed();
  expect(first).toBeGreaterThan(0);
  expect(await on.run('audit')).toMatch(/trimmed: conversations before[\s\S]*^balances$/m);
  expect(await on.run('replay')).toBe(digests);

  await on.loop.stop();
  await rm(join(on.folder, 'snapshots'), { recursive: true, force: true });
  await on.start(...flags, '--collector-keep', '0s', '--collector-trim-ms', '300');
  await chatAndReact(ask);
  await trained(2);
  expect(await on.run('audit')).toMatch(/^balances$/m);
  expect(await on.run('replay')).toContain(digests.split('\n').find((line) => /\bv1\b/.test(line)));
  expect(await removed()).toBeGreaterThanOrEqual(first);
}, 600_000);
