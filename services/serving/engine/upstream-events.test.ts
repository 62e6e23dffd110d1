import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { Agent } from 'undici';
import { afterEach, expect, test } from 'vitest';
import { type AnswerBytes, openAnswer } from './upstream-bytes.ts';
import { hearEvents } from './upstream-events.ts';
import type { HeardChunk } from './upstream-exchange.ts';

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

const question = { method: 'GET', headers: {}, signal: new AbortController().signal } as const;

/** An engine that does with each response what the test says, and whoever asks it. */
async function engineThat(answers: (response: ServerResponse) => void) {
  let connections = 0;
  const server = createServer((_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    answers(response);
  });
  server.on('connection', () => connections++);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const agent = new Agent();
  closers.push(
    () => agent.destroy(),
    () => server.closeAllConnections(),
    () => server.close(),
  );
  const { port } = server.address() as { readonly port: number };
  return {
    connections: () => connections,
    ask: async () => (await openAnswer(agent, `http://127.0.0.1:${port}`, question)).bytes,
  };
}

const events = (...words: readonly string[]) => words.map((word) => `data: ${word}\n\n`).join('');
/** A word is a text, `!` breaks, `?` is no text alone. */
const hear = (data: string): readonly HeardChunk[] => {
  if (data === '!') throw new Error('it says no more');
  const [choice, text] = data.split(':') as [string, string];
  const chunk = { text, tokens: [], ...(text === '?' ? { reasoning: 'Hm.' } : {}) };
  return [{ choice: Number(choice), chunk }];
};
const never = () => false;
const shown = (heard: readonly HeardChunk[]) => heard.map(({ choice, chunk }) => `${choice}:${chunk.text}`);

test('texts that arrive together are shown together, those of one choice and with nothing beside them', async () => {
  const engine = await engineThat((response) =>
    response.end(events('0:a', '0:b', '1:c', '0:d', '0:?', '0:e', '0:f', '[DONE]', '0:g')),
  );
  const heard: HeardChunk[] = [];
  await hearEvents(await engine.ask(), { hear, isEnough: never, show: (one) => heard.push(one) });
  expect(shown(heard)).toEqual(['0:ab', '1:c', '0:d', '0:?', '0:ef']);
});

test('what came before a break is shown', async () => {
  const engine = await engineThat((response) => response.end(events('0:a', '!', '0:b')));
  const heard: HeardChunk[] = [];
  const told = hearEvents(await engine.ask(), { hear, isEnough: never, show: (one) => heard.push(one) });
  await expect(told).rejects.toThrow('it says no more');
  expect(shown(heard)).toEqual(['0:a']);
});

test('an answer is over with its mark, and its connection serves the next one where it ends after it', async () => {
  const open: ServerResponse[] = [];
  const engine = await engineThat((response) => {
    response.write(events('0:a', '[DONE]'));
    open.push(response);
  });
  for (let n = 1; n <= 8; n++) {
    const answer = await engine.ask();
    const { promise: ended, resolve } = Promise.withResolvers<void>();
    const watched: AnswerBytes = {
      ...answer,
      hear: (listener) => answer.hear({ ...listener, onEnd: resolve }),
    };
    await hearEvents(watched, { hear, isEnough: never, show: () => {} });
    open.at(-1)!.end(': bye\n\n');
    await ended;
  }
  expect(engine.connections()).toBeLessThan(4); // not one each: a request may come before its connection is free
});

test.each([
  ['in one line', 'data: 0:'],
  ['in lines of one event', 'data: 0\n'],
  ['of the name of an event', 'event: a'],
])('an event without end (%s) is given up at its limit, and the connection closed', async (_, beginning) => {
  const { promise: closed, resolve } = Promise.withResolvers<void>();
  let sent = 0;
  const engine = await engineThat((response) => {
    response.on('close', resolve);
    const more = () => {
      sent += 1;
      response.write(beginning.endsWith('\n') ? beginning.repeat(100) : 'a'.repeat(1000));
      if (!response.destroyed) setImmediate(more);
    };
    response.write(`${events('0:a')}${beginning}`);
    more();
  });
  const heard: HeardChunk[] = [];
  const show = (one: HeardChunk) => heard.push(one);
  const told = hearEvents(await engine.ask(), { hear, isEnough: never, show }, 20_000);
  await expect(told).rejects.toThrow('a part of its answer has more than 20000 characters');
  expect(shown(heard)).toEqual(['0:a']);
  await closed;
  expect(sent).toBeGreaterThan(15);
});

test('a connection on which more and more comes after the answer is closed', async () => {
  const { promise: closed, resolve } = Promise.withResolvers<void>();
  const engine = await engineThat((response) => {
    response.on('close', resolve);
    const more = () => {
      response.write('a'.repeat(1000));
      if (!response.destroyed) setImmediate(more);
    };
    response.write(events('0:a', '[DONE]'));
    more();
  });
  await hearEvents(await engine.ask(), { hear, isEnough: never, show: () => {} });
  await closed;
});

test('an answer without end is given up at its limit, and the connection closed', async () => {
  const { promise: closed, resolve } = Promise.withResolvers<void>();
  const engine = await engineThat((response) => {
    response.on('close', resolve);
    const more = () => {
      response.write(events(`0:${'a'.repeat(1000)}`));
      if (!response.destroyed) setImmediate(more);
    };
    more();
  });
  const told = hearEvents(await engine.ask(), { hear, isEnough: never, show: () => {} }, 20_000);
  await expect(told).rejects.toThrow('its answer has more than 20000 characters');
  await closed;
});
