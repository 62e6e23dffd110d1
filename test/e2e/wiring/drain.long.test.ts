import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openSqliteLog } from '../../../shared/log/sqlite/open-sqlite-log.ts';
import { readTopic } from '../../contract/event-log-fixtures.ts';
import { type UpstreamDouble, upstreamDouble } from '../serving-upstream-double.ts';
import { startService, untilReady } from './service-process.ts';
import { speak, startStory } from './story.ts';

let folder: string;
let upstream: UpstreamDouble;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'clawloop-drain-'));
  upstream = await upstreamDouble();
});
afterAll(async () => {
  await upstream.close();
  await rm(folder, { recursive: true, force: true });
});

/** Starts a stream, and stops serving after the first word. */
async function stopInMidStream(data: string) {
  const serving = startService('serving', [
    '--data-folder',
    data,
    '--engine',
    'upstream',
    '--upstream-url',
    upstream.url,
  ]);
  const story = await startStory(await untilReady(serving));
  const stopped = await serving.stop();
  const { text, reason } = await story.ended;
  const log = await openSqliteLog({ folder: join(data, 'log') });
  const facts = (await readTopic(log, 'conversations')).map(({ event }) => event);
  await log.close();
  return { ...stopped, text, reason, facts };
}

test('an answer that ends in time is finished, and recorded', async () => {
  speak(upstream, 40);
  const { code, milliseconds, text, reason, facts } = await stopInMidStream(join(folder, 'finishes'));
  expect({ code, reason }).toEqual({ code: 0, reason: 'stop' });
  expect(milliseconds).toBeLessThan(9_000);
  expect(text).toContain('word39');
  expect(facts).toMatchObject([{ type: 'interaction.completed', data: { finishReason: 'stop' } }]);
});

test('a longer answer is cut short: the stream ends properly, and the recorded turn does not train', async () => {
  speak(upstream, Number.POSITIVE_INFINITY);
  const { code, milliseconds, reason, facts, text } = await stopInMidStream(join(folder, 'cut'));
  expect({ code, reason }).toEqual({ code: 0, reason: 'length' });
  expect(milliseconds).toBeLessThan(9_000);
  expect(facts).toMatchObject([
    { type: 'interaction.completed', data: { finishReason: 'aborted', disconnected: false } },
  ]);
  expect((facts[0]!.data as { answer: { content: string } }).answer.content).toBe(text);
});
