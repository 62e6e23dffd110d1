import type { ServerResponse } from 'node:http';
import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { expect, onTestFinished, test } from 'vitest';
import { until } from './harness/clawloop.ts';
import { servingOnScript } from './serving-on-script.ts';
import { deltaFrame, finishFrame, usageFrame } from './serving-upstream-double.ts';

// Streams whose engine is silent for a while: before its first token, and between two tokens.

const on = servingOnScript(['--stream-keep-alive-ms', '5']);

const messages = [{ role: 'user', content: 'hi' } as const];
const apis = [
  { path: '/v1/chat/completions', body: { messages }, sign: ': keep-alive\n\n' },
  { path: '/v1/messages', body: { messages, max_tokens: 50 }, sign: ': keep-alive\n\n' },
  { path: '/v1/responses', body: { input: 'hi' }, sign: 'event: response.in_progress\n' },
] as const;
const [chat, anthropic, responses] = apis;

/** A point that the engine reaches and then waits at, until the test has seen enough. */
function gate() {
  const reached = Promise.withResolvers<void>();
  const opened = Promise.withResolvers<void>();
  onTestFinished(() => opened.resolve());
  return {
    reached: reached.promise,
    open: opened.resolve,
    pass: async () => {
      reached.resolve();
      await opened.promise;
    },
  };
}

/** An engine that waits at both gates: before its answer, and in it. */
function sayHello(before: ReturnType<typeof gate>, within?: ReturnType<typeof gate>) {
  on.upstream.script(async (_, response) => {
    await before.pass();
    const send = sender(response);
    send(deltaFrame({ content: 'Hel' }));
    await within?.pass();
    for (const frame of [deltaFrame({ content: 'lo' }), finishFrame('stop'), usageFrame(11, 2)]) send(frame);
    response.end('data: [DONE]\n\n');
  });
}

function sender(response: ServerResponse): (frame: object) => void {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  return (frame) => void response.write(`data: ${JSON.stringify(frame)}\n\n`);
}

/** A fetch that shows what has arrived, and the headers with which it came. */
function watchedFetch() {
  let text = '';
  let headers: Headers | undefined;
  const watching: typeof fetch = async (...request) => {
    const response = await fetch(...request);
    headers = response.headers;
    const decoder = new TextDecoder();
    const watch = new TransformStream<Uint8Array, Uint8Array>({
      transform: (bytes, controller) => {
        text += decoder.decode(bytes, { stream: true });
        controller.enqueue(bytes);
      },
    });
    return new Response(response.body!.pipeThrough(watch), response);
  };
  const countOf = (sign: string) => text.split(sign).length - 1;
  return {
    fetch: watching,
    text: () => text,
    headers: () => headers!,
    /** Resolves when three more of these signs have arrived. */
    more: async (sign: string) => {
      const before = countOf(sign);
      await until(`more of ${sign}`, () => countOf(sign) >= before + 3);
    },
  };
}

const open = (watched: ReturnType<typeof watchedFetch>, { path, body }: (typeof apis)[number]) =>
  watched.fetch(`${on.serving.url}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'clawloop', stream: true, ...body }),
  });

const countedAs = (path: string, status: number) =>
  on.serving.metric(`clawloop_serving_requests_total{route="${path}",status="${status}",service="serving"}`);

test('a chat gets comments while it waits, and then the whole answer without a header of the version', async () => {
  const [before, within] = [gate(), gate()];
  sayHello(before, within);
  const watched = watchedFetch();
  const client = new OpenAI({ baseURL: `${on.serving.url}/v1`, apiKey: 'any', fetch: watched.fetch });
  const stream = await client.chat.completions.create({ model: 'clawloop', messages, stream: true });
  await before.reached;
  expect(watched.headers().get('content-type')).toContain('text/event-stream');
  expect(watched.headers().get('x-request-id')).toMatch(/^req_/);
  expect(watched.headers().has('x-clawloop-version')).toBe(false);
  const chunks: OpenAI.Chat.ChatCompletionChunk[] = [];
  const read = (async () => {
    for await (const chunk of stream) chunks.push(chunk);
  })();
  await watched.more(chat.sign);
  before.open();
  await within.reached;
  await watched.more(chat.sign);
  within.open();
  await read;
  expect(chunks.map(({ choices }) => choices[0]?.delta.content ?? '').join('')).toBe('Hello');
  expect(chunks.at(-1)).toMatchObject({ clawloop: { version: 0, recorded: true } });
  expect(watched.text().endsWith('data: [DONE]\n\n')).toBe(true);
});

test('Messages get comments before message_start, and pings after it', async () => {
  const [before, within] = [gate(), gate()];
  sayHello(before, within);
  const watched = watchedFetch();
  const client = new Anthropic({ baseURL: on.serving.url, apiKey: 'any', fetch: watched.fetch });
  const answer = client.messages
    .stream({ model: 'clawloop', max_tokens: 50, messages: [...messages] })
    .finalMessage();
  await before.reached;
  await watched.more(anthropic.sign);
  expect(watched.text()).not.toContain('event: ');
  before.open();
  await within.reached;
  await watched.more('event: ping\ndata: {"type":"ping"}\n\n');
  within.open();
  expect(await answer).toMatchObject({ content: [{ type: 'text', text: 'Hello' }], stop_reason: 'end_turn' });
});

test('a response is created at once, and then gets events that change nothing', async () => {
  const [before, within] = [gate(), gate()];
  sayHello(before, within);
  const watched = watchedFetch();
  const client = new OpenAI({ baseURL: `${on.serving.url}/v1`, apiKey: 'any', fetch: watched.fetch });
  const events: OpenAI.Responses.ResponseStreamEvent[] = [];
  const answer = client.responses
    .stream({ model: 'clawloop', input: 'hi' })
    .on('event', (event) => void events.push(event))
    .finalResponse();
  await before.reached;
  await watched.more(responses.sign);
  before.open();
  await within.reached;
  await watched.more('"delta":""');
  within.open();
  expect(await answer).toMatchObject({ status: 'completed', output_text: 'Hello' });
  expect(events.map(({ sequence_number: at }) => at)).toEqual(events.map((_, index) => index));
  expect(events.filter(({ type }) => type === 'response.created')).toHaveLength(1);
});

test.each(apis)(
  '$path: an error after the headers is in the stream, and counts by its status',
  async (api) => {
    const before = gate();
    on.upstream.script(async (_, response) => {
      await before.pass();
      response.writeHead(400).end(JSON.stringify({ error: { message: 'top_p must be in (0, 1].' } }));
    });
    const watched = watchedFetch();
    const response = await open(watched, api);
    expect(response.status).toBe(200);
    const read = response.text();
    await watched.more(api.sign);
    before.open();
    const events = (await read).trim().split('\n\n');
    const [name, data] = /^(?:event: (.+)\n)?data: (.+)$/.exec(events.at(-1)!)!.slice(1);
    const error = { message: expect.stringContaining('top_p must be in (0, 1].') };
    if (api === chat)
      expect(JSON.parse(data!)).toMatchObject({ error: { ...error, code: 'upstream_refused' } });
    else if (api === anthropic)
      expect([name, JSON.parse(data!)]).toMatchObject([
        'error',
        { error: { type: 'invalid_request_error' } },
      ]);
    else expect(JSON.parse(data!)).toMatchObject({ type: name, response: { status: 'failed', error } });
    if (api === responses) expect(name).toBe('response.failed');
    await until('it is counted', async () => (await countedAs(api.path, 400)) === 1);
  },
);

test('a client that leaves while it waits is noticed, counted and recorded', async () => {
  const before = gate();
  sayHello(before);
  const leave = new AbortController();
  const recorded = (await on.folder.events('conversations')).length;
  const gone = on.upstream.aborted();
  const response = await fetch(`${on.serving.url}${chat.path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'clawloop', stream: true, ...chat.body }),
    signal: leave.signal,
  });
  expect(response.status).toBe(200);
  leave.abort();
  await until('the engine is told', () => on.upstream.aborted() > gone);
  await until('it is counted', async () => (await countedAs(chat.path, 499)) === 1);
  const events = await until('it is recorded', async () => {
    const found = (await on.folder.events('conversations')).slice(recorded);
    return found.length > 0 && found;
  });
  expect(events).toMatchObject([{ type: 'interaction.failed', data: { code: 'client-disconnected' } }]);
});

test('with 0 a stream sends nothing before its answer, so that every error has its status', async () => {
  const silent = await on.folder.start([...on.engine, '--stream-keep-alive-ms', '0']);
  const before = gate();
  on.upstream.script(async (_, response) => {
    await before.pass();
    response.writeHead(400).end('{}');
  });
  const asked = silent.client.chat.completions
    .create({ model: 'clawloop', messages, stream: true })
    .catch((error: unknown) => error);
  await before.reached;
  const watched = watchedFetch();
  const read = (await open(watched, chat)).text();
  await watched.more(chat.sign);
  before.open();
  expect(await asked).toMatchObject({ status: 400 });
  await read;
});
