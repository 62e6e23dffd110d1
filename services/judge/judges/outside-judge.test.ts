import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { loadConfig } from '../../../shared/config/common.ts';
import { JudgeConfig } from '../../../shared/config/judge.ts';
import type { ChatMessage } from '../../../shared/events/chat-message.ts';
import { assistant, turnCompleted, user } from '../testing/events.ts';
import { createJudge } from './judges.ts';

const token = `gh${'p_'}aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5`;
const card = '4111 1111 1111 1111';
const answer: ChatMessage = {
  ...assistant(`I pay with ${card}.`),
  tool_calls: [{ id: 'c', type: 'function', function: { name: 'push', arguments: `{"token":"${token}"}` } }],
};
const turn = turnCompleted('t', {
  messages: [user(`My token is ${token}.`), assistant('I keep it.'), user('Push it.')],
  answer,
  next: [user(`No, not ${token.slice(0, 9)}\u200b${token.slice(9)}!`)],
}).data;

const received: string[] = [];
const headers: (string | undefined)[] = [];
const server = createServer(async (request, response) => {
  headers.push(request.headers['idempotency-key']?.toString());
  received.push(Buffer.concat(await request.toArray()).toString());
  response.setHeader('content-type', 'application/json');
  response.end(JSON.stringify({ choices: [{ message: { content: '\\boxed{-1}' } }] }));
});

afterEach(() => {
  received.length = 0;
  headers.length = 0;
  server.closeAllConnections();
  server.close();
});

async function judgeAt(env: (address: string) => Readonly<Record<string, string>>) {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
  const composed = {
    CLAWLOOP_JUDGE_KIND: 'openai',
    CLAWLOOP_JUDGE_OPENAI_BASE_URL: address,
    ...env(address),
  };
  return createJudge(loadConfig('judge', JudgeConfig, [], composed).values);
}

test('an external judge sees the kind of a secret but not the secret', async () => {
  const judge = await judgeAt(() => ({}));
  expect((await judge.vote(turn, 0, new AbortController().signal)).vote).toBe(-1);
  await judge.hint!(turn, 0, new AbortController().signal);
  expect(received).toHaveLength(2);
  for (const body of received) {
    expect(body).not.toContain(token);
    expect(body).not.toContain(card);
    expect(body.match(/\(removed: github-token\)/g)).toHaveLength(3);
    expect(body).toContain('I pay with (removed: card-number).');
  }
});

test('the serving service as the judge sees the texts unchanged', async () => {
  const judge = await judgeAt((address) => ({ CLAWLOOP_JUDGE_SERVING_BASE_URL: address }));
  await judge.vote(turn, 0, new AbortController().signal);
  expect(received[0]).toContain(token);
  expect(received[0]).not.toContain('(removed:');
});

test('each vote has its own seed and no key that makes a server repeat an answer', async () => {
  const judge = await judgeAt(() => ({}));
  for (const index of [0, 1, 2, 0]) await judge.vote(turn, index, new AbortController().signal);
  const seeds = received.map((body) => (JSON.parse(body) as { seed: number }).seed);
  expect(new Set(seeds.slice(0, 3)).size).toBe(3);
  expect(seeds[3]).toBe(seeds[0]);
  expect(new Set(received.slice(0, 3)).size).toBe(3);
  expect(headers).toEqual([undefined, undefined, undefined, undefined]);
});
