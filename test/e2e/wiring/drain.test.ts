import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import OpenAI from 'openai';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openSqliteLog } from '../../../shared/log/sqlite/open-sqlite-log.ts';
import { readTopic } from '../../contract/event-log-fixtures.ts';
import { until } from '../harness/clawloop.ts';
import { deltaFrame, type UpstreamDouble, upstreamDouble } from '../serving-upstream-double.ts';
import { startService, untilReady } from './service-process.ts';

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

/** An answer that says a word every 50 ms: so many, or without end. */
function speak(words: number): void {
  upstream.script(async (_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    for (let said = 0; said < words && !response.destroyed; said += 1) {
      response.write(`data: ${JSON.stringify(deltaFrame({ content: `word${said} ` }))}\n\n`);
      await delay(50);
    }
    response.end(`data: ${JSON.stringify(deltaFrame({}, { finish_reason: 'stop' }))}\n\ndata: [DONE]\n\n`);
  });
}

/** Asks, and has it stopped once the first word has come. */
async function stopInMidStream(data: string) {
  const serving = startService('serving', [
    ...['--data-folder', data, '--engine', 'upstream', '--upstream-url', upstream.url],
  ]);
  const client = new OpenAI({ baseURL: `${await untilReady(serving)}/v1`, apiKey: 'none', maxRetries: 0 });
  const stream = await client.chat.completions.create({
    model: 'clawloop',
    messages: [{ role: 'user', content: 'Tell me a story' }],
    stream: true,
  });
  let text = '';
  let reason: string | null = null;
  const read = (async () => {
    for await (const { choices } of stream) {
      text += choices[0]?.delta.content ?? '';
      reason ??= choices[0]?.finish_reason ?? null;
    }
  })();
  await until('it speaks', () => text !== '');
  const stopped = await serving.stop();
  await read;
  const log = await openSqliteLog({ folder: join(data, 'log') });
  const facts = (await readTopic(log, 'conversations')).map(({ event }) => event);
  await log.close();
  return { ...stopped, text, reason, facts };
}

test('an answer that ends in time is finished, and recorded', async () => {
  speak(40);
  const { code, milliseconds, text, reason, facts } = await stopInMidStream(join(folder, 'finishes'));
  expect({ code, reason }).toEqual({ code: 0, reason: 'stop' });
  expect(milliseconds).toBeLessThan(9_500);
  expect(text).toContain('word39');
  expect(facts).toMatchObject([{ type: 'interaction.completed', data: { finishReason: 'stop' } }]);
});

test('one that does not is cut short: a stream that ends in order, and a fact that does not train', async () => {
  speak(Number.POSITIVE_INFINITY);
  const { code, milliseconds, reason, facts, text } = await stopInMidStream(join(folder, 'cut'));
  expect({ code, reason }).toEqual({ code: 0, reason: 'length' });
  expect(milliseconds).toBeLessThan(9_500);
  expect(facts).toMatchObject([
    { type: 'interaction.completed', data: { finishReason: 'aborted', disconnected: false } },
  ]);
  expect((facts[0]!.data as { answer: { content: string } }).answer.content).toBe(text);
});
