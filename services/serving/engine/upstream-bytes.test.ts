import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { setImmediate as turn } from 'node:timers/promises';
import { Agent } from 'undici';
import { afterEach, expect, test } from 'vitest';
import { type OpenedAnswer, openAnswer } from './upstream-bytes.ts';

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

/** Asks a server that does with the response what the test says. */
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

/** What is told, in its order; resolves with the first of `until`. */
function told({ bytes }: OpenedAnswer, until: string, onTold: (all: readonly string[]) => void = () => {}) {
  const all: string[] = [];
  return new Promise<readonly string[]>((resolve) => {
    const tell = (what: string) => {
      all.push(what);
      onTold(all);
      if (what === until) resolve(all);
    };
    bytes.hear({
      onBytes: (part) => tell(Buffer.from(part).toString()),
      onEnd: () => tell('end'),
      onBreak: ({ message }) => tell(`break: ${message}`),
    });
  });
}

test('what came before anybody listened is told first, and the end last', async () => {
  const answer = await ask((response) => {
    response.writeHead(201, { 'x-mark': 'm' }).write('a');
    response.end('b');
  });
  expect([answer.status, answer.headers['x-mark']]).toEqual([201, 'm']);
  await turn();
  expect((await told(answer, 'end')).join('')).toBe('abend');
});

test('after a stop nothing is told, neither of what is there nor of the break, and the server sees it', async () => {
  const { promise: closed, resolve } = Promise.withResolvers<void>();
  const answer = await ask((response) => {
    response.on('close', resolve);
    response.write('a');
  });
  const all: string[] = [];
  void told(answer, 'never', (now) => {
    all.splice(0, all.length, ...now);
    answer.bytes.stop();
  });
  await closed;
  await turn();
  expect(all).toEqual(['a']);
});

test('whoever waits for it or listens is told that the asking is over, or that the server broke off', async () => {
  const asking = new AbortController();
  const waiting = ask(() => asking.abort(new Error('the client left')), asking.signal);
  await expect(waiting).rejects.toThrow('the client left');
  await expect(ask(() => {}, AbortSignal.abort(new Error('too late')))).rejects.toThrow('too late');
  const reading = new AbortController();
  const begun = await ask((response) => response.write('a'), reading.signal);
  reading.abort(new Error('the client left'));
  expect((await told(begun, 'break: the client left')).at(-1)).toBe('break: the client left');
  const broken = await ask((response) => {
    response.write('a', () => response.destroy());
  });
  expect((await told(broken, 'break: other side closed')).slice(0, 2)).toEqual([
    'a',
    'break: other side closed',
  ]);
});
