import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { Agent } from 'undici';
import { afterEach, expect, test } from 'vitest';
import { defined } from '../../../../shared/lang/defined.ts';
import { type AnswerBytes, openAnswer } from './bytes.ts';
import { readEvents } from './events.ts';
import type { ChoiceChunk } from './exchange.ts';

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

const question = { method: 'GET', headers: {}, signal: new AbortController().signal } as const;

/** A server that handles each response with a function of the test, and a function to call it. */
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
/** A word is a text, `!` throws, `?` also has reasoning. */
const read = (data: string): readonly ChoiceChunk[] => {
  if (data === '!') throw new Error('no details given');
  const [choice, text] = data.split(':') as [string, string];
  const chunk = { text, tokens: [], ...defined({ reasoning: text === '?' ? 'Hm.' : undefined }) };
  return [{ choice: Number(choice), chunk }];
};
const never = () => false;
const shown = (heard: readonly ChoiceChunk[]) => heard.map(({ choice, chunk }) => `${choice}:${chunk.text}`);

test('adjacent texts of one choice that arrive together are shown together', async () => {
  const engine = await engineThat((response) =>
    response.end(events('0:a', '0:b', '1:c', '0:d', '0:?', '0:e', '0:f', '[DONE]', '0:g')),
  );
  const heard: ChoiceChunk[] = [];
  await readEvents(await engine.ask(), { read, isEnough: never, show: (one) => heard.push(one) });
  expect(shown(heard)).toEqual(['0:ab', '1:c', '0:d', '0:?', '0:ef']);
});

test('text before a broken connection is shown', async () => {
  const engine = await engineThat((response) => response.end(events('0:a', '!', '0:b')));
  const heard: ChoiceChunk[] = [];
  const reading = readEvents(await engine.ask(), { read, isEnough: never, show: (one) => heard.push(one) });
  await expect(reading).rejects.toThrow('no details given');
  expect(shown(heard)).toEqual(['0:a']);
});

test('an answer ends at [DONE], and its connection is reused', async () => {
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
      listen: (listener) => answer.listen({ ...listener, onEnd: resolve }),
    };
    await readEvents(watched, { read, isEnough: never, show: () => {} });
    open.at(-1)!.end(': bye\n\n');
    await ended;
  }
  expect(engine.connections()).toBeLessThan(4); // a request may start before a connection is free
});

test.each([
  ['in one line', 'data: 0:'],
  ['in lines of one event', 'data: 0\n'],
  ['of the name of an event', 'event: a'],
])('an endless event (%s) fails at its limit, and the connection is closed', async (_, beginning) => {
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
  const heard: ChoiceChunk[] = [];
  const show = (one: ChoiceChunk) => heard.push(one);
  const reading = readEvents(await engine.ask(), { read, isEnough: never, show }, 20_000);
  await expect(reading).rejects.toThrow('an event of its answer has more than 20000 characters');
  expect(shown(heard)).toEqual(['0:a']);
  await closed;
  expect(sent).toBeGreaterThan(15);
});

test('a connection with endless data after the answer is closed', async () => {
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
  await readEvents(await engine.ask(), { read, isEnough: never, show: () => {} });
  await closed;
});

test('an endless answer fails at its limit, and the connection is closed', async () => {
  const { promise: closed, resolve } = Promise.withResolvers<void>();
  const engine = await engineThat((response) => {
    response.on('close', resolve);
    const more = () => {
      response.write(events(`0:${'a'.repeat(1000)}`));
      if (!response.destroyed) setImmediate(more);
    };
    more();
  });
  const reading = readEvents(await engine.ask(), { read, isEnough: never, show: () => {} }, 20_000);
  await expect(reading).rejects.toThrow('its answer has more than 20000 characters');
  await closed;
});
