import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { setImmediate as turn } from 'node:timers/promises';
import { Agent } from 'undici';
import { afterEach, expect, test } from 'vitest';
import { type OpenedAnswer, openAnswer } from './bytes.ts';

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

/** Sends a request to a server that answers with `answer`. */
async function ask(answer: (response: ServerResponse) => void, signal = new AbortController().signal) {
  const server = createServer((_, response) => answer(response)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const agent = new Agent();
  closers.push(
    () => agent.destroy(),
    () => server.closeAllConnections(),
    () => server.close(),
  );
  const { port } = server.address() as { readonly port: number };
  return openAnswer(agent, `http://127.0.0.1:${port}/a?b`, { method: 'GET', headers: {}, signal });
}

/** The calls of the listener, in order; resolves at the first `until`. */
function callsUntil(
  { bytes }: OpenedAnswer,
  until: string,
  onCall: (all: readonly string[]) => void = () => {},
) {
  const all: string[] = [];
  return new Promise<readonly string[]>((resolve) => {
    const tell = (what: string) => {
      all.push(what);
      onCall(all);
      if (what === until) resolve(all);
    };
    bytes.listen({
      onBytes: (part) => tell(Buffer.from(part).toString()),
      onEnd: () => tell('end'),
      onBreak: ({ message }) => tell(`break: ${message}`),
    });
  });
}

test('a late listener receives the earlier bytes first and the end last', async () => {
  const answer = await ask((response) => {
    response.writeHead(201, { 'x-mark': 'm' }).write('a');
    response.end('b');
  });
  expect([answer.status, answer.headers['x-mark']]).toEqual([201, 'm']);
  await turn();
  expect((await callsUntil(answer, 'end')).join('')).toBe('abend');
});

test('after a stop the listener is not called, and the server sees the connection close', async () => {
  const { promise: closed, resolve } = Promise.withResolvers<void>();
  const answer = await ask((response) => {
    response.on('close', resolve);
    response.write('a');
  });
  const all: string[] = [];
  void callsUntil(answer, 'never', (now) => {
    all.splice(0, all.length, ...now);
    answer.bytes.stop();
  });
  await closed;
  await turn();
  expect(all).toEqual(['a']);
});

test('an abort or a broken connection rejects the request and reaches the listener', async () => {
  const asking = new AbortController();
  const waiting = ask(() => asking.abort(new Error('the client left')), asking.signal);
  await expect(waiting).rejects.toThrow('the client left');
  await expect(ask(() => {}, AbortSignal.abort(new Error('too late')))).rejects.toThrow('too late');
  const reading = new AbortController();
  const begun = await ask((response) => response.write('a'), reading.signal);
  reading.abort(new Error('the client left'));
  expect((await callsUntil(begun, 'break: the client left')).at(-1)).toBe('break: the client left');
  const broken = await ask((response) => {
    response.write('a', () => response.destroy());
  });
  expect((await callsUntil(broken, 'break: other side closed')).slice(0, 2)).toEqual([
    'a',
    'break: other side closed',
  ]);
});
