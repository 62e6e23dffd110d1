import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { defined } from '../../shared/lang/defined.ts';
import plugin from './rl-training-headers/index.js';
import { turnTypeOfRun } from './rl-training-headers/turn-type.js';

type Handler = (event: object, context: object) => unknown;
type StreamFn = (model: object, context: object, options?: object) => unknown;
type Provider = Record<'wrapStreamFn' | 'wrapSimpleCompletionStreamFn', (of: object) => StreamFn> & {
  readonly id: string;
};

/** What the plugin uses of OpenClaw, and what a stream would be sent with. */
function openClaw(
  pluginConfig?: { readonly providers: readonly string[] },
  keyOf: (provider: string) => Promise<{ apiKey: string }> = async (provider) => ({
    apiKey: `${provider}-key`,
  }),
) {
  const handlers = new Map<string, Handler>();
  const providers: Provider[] = [];
  const sent: { session?: string; type?: string }[] = [];
  const warnings: string[] = [];
  plugin.register({
    ...defined({ pluginConfig }),
    config: { from: 'config' },
    logger: { warn: (message: string) => warnings.push(message) },
    runtime: {
      modelAuth: { resolveApiKeyForProvider: ({ provider }) => keyOf(provider) },
    },
    on: (name: string, handler: Handler) => handlers.set(name, handler),
    registerProvider: (provider: object) => providers.push(provider as Provider),
  });
  const streamFn: StreamFn = (_model, _context, options) => {
    const { headers = {} } = (options ?? {}) as { headers?: Record<string, string> };
    const { 'X-Session-Id': session, 'X-Turn-Type': type } = headers;
    sent.push({ ...defined({ session, type }) });
    return 'stream';
  };
  const request = (options: object, baseUrl = 'http://127.0.0.1:9/v1', context = {}) =>
    providers[0]!.wrapStreamFn({ streamFn })({ provider: 'clawloop', baseUrl }, context, options);
  const utility = () => providers[0]!.wrapSimpleCompletionStreamFn({ streamFn })({}, {}, {});
  const tell = (name: string, event: object, context: object = {}) => handlers.get(name)!(event, context);
  return { providers, sent, warnings, request, utility, tell };
}

const user = { trigger: 'user', sessionKey: 'agent:main:chat-a' };

test('only a run in which a person spoke is a main turn', () => {
  expect(turnTypeOfRun({ ...user, runId: 'r1' })).toBe('main');
  const beside = ['agent:main:subagent:7', 'agent:main:cron:7', 'agent:main:internal-session-effects:7-a'];
  for (const sessionKey of beside) expect(turnTypeOfRun({ ...user, sessionKey })).toBe('side');
  for (const trigger of ['heartbeat', 'cron', 'memory', 'overflow', 'manual', undefined])
    expect(turnTypeOfRun({ ...user, ...(trigger ? { trigger } : { trigger: '' }) })).toBe('side');
  expect(turnTypeOfRun({ ...user, runId: 'announce:v1:agent:main:subagent:7' })).toBe('side');
  expect(turnTypeOfRun({ ...user, inputProvenance: { kind: 'inter_session' } })).toBe('side');
  expect(turnTypeOfRun({ ...user, inputProvenance: { kind: 'external_user' } })).toBe('main');
});

test('requests of two concurrent sessions keep their session', async () => {
  const { tell, request, utility, sent } = openClaw();
  tell('before_prompt_build', {}, { ...user, runId: 'r:1', sessionId: 'a' });
  tell('before_prompt_build', {}, { ...user, trigger: 'heartbeat', runId: 'r:2', sessionId: 'b' });
  await Promise.all([
    request({ requestId: 'r:2:model:1', sessionId: 'b' }),
    request({ requestId: 'r:1:model:1', sessionId: 'a', headers: { traceparent: 't' } }),
    utility(),
  ]);
  await request({ requestId: 'r:1:model:2', sessionId: 'a' });
  expect(sent.toSorted((a, b) => `${a.session}${a.type}`.localeCompare(`${b.session}${b.type}`))).toEqual([
    { session: 'a', type: 'main' },
    { session: 'a', type: 'main' },
    { session: 'b', type: 'side' },
    { type: 'side' },
  ]);
});

test("requests by OpenClaw itself in a person's run are side turns", async () => {
  const { tell, request, sent } = openClaw();
  tell('before_prompt_build', {}, { ...user, runId: 'own', sessionId: 'a' });
  const says = (text: string) => ({ role: 'user', content: [{ type: 'text', text }] });
  const [asked, called] = [says('[Sat 2026-11-21 00:26 UTC] Go on.'), { role: 'toolResult', content: 'ok' }];
  const news = says('[Sat 2026-11-21 00:26 UTC] [[OPENCLAW_INTERNAL_CONTEXT_BEGIN]]\nIt is done.');
  const internal = says(
    '<<<BEGIN_OPENCLAW_INTERNAL_CONTEXT>>>\nnothing\n<<<END_OPENCLAW_INTERNAL_CONTEXT>>>',
  );
  const histories: readonly (readonly unknown[] | undefined)[] = [
    [asked, called, internal],
    [asked, called, internal, news],
    [asked, news, { role: 'assistant', content: [] }, called, internal],
    [news, asked],
    [{ role: 'user', content: 'The previous attempt did not produce a user-visible answer. Go on.' }],
    [{ role: 'user' }, null, 3],
    [says('[OpenClaw runtime event] Agent steering.\n\n1. count\nThree.')],
    [says('[OpenClaw runtime event] Agent steering.\n\nCurrent parent turn:\n\nAnd now?'), internal],
    undefined,
  ];
  for (const messages of histories)
    await request({ requestId: 'own:model:1', sessionId: 'a' }, undefined, { messages });
  expect(sent.map(({ type }) => type)).toEqual([
    'main',
    'side',
    'side',
    'main',
    'side',
    'main',
    'side',
    'main',
    'main',
  ]);
});

test('without access to runs the server decides the type, with one warning', async () => {
  const { request, sent, warnings } = openClaw();
  await request({ requestId: 'nobody:model:1', sessionId: 'c' });
  await request({ requestId: 'nobody:model:2', sessionId: 'c' });
  expect(sent).toEqual([{ session: 'c' }, { session: 'c' }]);
  expect(warnings).toEqual([expect.stringContaining('allowConversationAccess')]);
});

test('a compaction is a side turn of the compacted session, if known', async () => {
  const { tell, request, sent } = openClaw();
  const compaction = () => request({ requestId: 'unknown-run:compaction:c1:model:1' });
  tell('before_prompt_build', {}, { ...user, runId: 'run-d', sessionId: 'd' });
  await request({ requestId: 'run-d:compaction:c0:model:1' });
  await request({ requestId: 'run-d:model:1', sessionId: 'd' });
  await request({ requestId: 'd:compaction:c0:model:1' });
  await compaction();
  tell('before_compaction', {}, { sessionId: 'd' });
  await compaction();
  tell('before_compaction', {}, { sessionId: 'e' });
  await compaction(); // one of two, nobody knows which
  tell('after_compaction', {}, { sessionId: 'd' });
  await compaction();
  tell('before_prompt_build', {}, { ...user, runId: 'run-e', sessionId: 'e' });
  await compaction(); // that of e failed: e speaks again
  const side = (session?: string) => ({ ...defined({ session }), type: 'side' });
  expect(sent).toEqual([
    side('d'),
    { session: 'd', type: 'main' },
    side('d'),
    side(),
    side('d'),
    side(),
    side('e'),
    side(),
  ]);
});

test('requests without ids belong to the latest run of their session, or a compaction', async () => {
  const { tell, request, sent } = openClaw();
  tell('before_prompt_build', {}, { ...user, runId: 'h-1', sessionId: 'h' });
  tell('before_prompt_build', {}, { ...user, trigger: 'heartbeat', runId: 'i-1', sessionId: 'i' });
  await request({ sessionId: 'h' });
  await request({ sessionId: 'i' });
  await request({ requestId: 'unknown:model:1', sessionId: 'h' });
  tell('before_prompt_build', {}, { ...user, trigger: 'memory', runId: 'h-2', sessionId: 'h' });
  await request({ sessionId: 'h' });
  await request({});
  expect(sent).toEqual([
    { session: 'h', type: 'main' },
    { session: 'i', type: 'side' },
    { session: 'h' },
    { session: 'h', type: 'side' },
    { type: 'side' },
  ]);
});

test('a name that cannot be a header value is not sent, and the chat continues', async () => {
  const { request, sent } = openClaw();
  expect(await request({ requestId: 'x:compaction:1:model:1', sessionId: 'Gespräch-日' })).toBe('stream');
  expect(sent).toEqual([{ type: 'side' }]);
});

const closers: (() => void)[] = [];
afterEach(() => {
  for (const close of closers.splice(0)) close();
});

/** A server that notes what is posted, and answers when it is let. */
async function openServer(status = 202) {
  const posted: { url: string | undefined; key: string | undefined; body: unknown }[] = [];
  let release = () => {};
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  const server = createServer(async (request, response) => {
    const body: unknown = JSON.parse(Buffer.concat(await request.toArray()).toString());
    posted.push({ url: request.url, key: request.headers.authorization, body });
    await held;
    response.writeHead(status).end('{}');
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  closers.push(() => {
    release();
    server.closeAllConnections();
    server.close();
  });
  return { posted, release, baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1` };
}

test('the end of a session is reported once, before the next request under its name', async () => {
  const { tell, request, sent, warnings } = openClaw();
  const { posted, release, baseUrl } = await openServer();
  const one = { requestId: 'f:compaction:1:model:1', sessionId: 'f' };
  await request(one, baseUrl);
  await tell('session_end', { sessionId: 'f', reason: 'compaction' });
  await tell('session_end', { sessionId: 'another', reason: 'new' });
  expect(posted).toEqual([]);
  const ended = tell('session_end', { sessionId: 'f', reason: 'new' });
  const next = request(one, baseUrl);
  await expect.poll(() => posted.length, { timeout: 20_000 }).toBe(1);
  expect(sent).toHaveLength(1); // the next one waits for the end
  release();
  await Promise.all([ended, next]);
  expect(sent).toHaveLength(2);
  expect(posted).toEqual([{ url: '/v1/sessions/end', key: 'Bearer clawloop-key', body: { session: 'f' } }]);
  await tell('session_end', { sessionId: 'f', reason: 'deleted' }); // it was used again
  await tell('session_end', { sessionId: 'f', reason: 'shutdown' });
  expect(posted).toHaveLength(2);
  expect(warnings).toEqual([]);
});

test('a server that rejects the end of a session causes a warning, not a failure', async () => {
  const { tell, request, warnings } = openClaw();
  const { baseUrl, release } = await openServer(503);
  release();
  const one = { requestId: 'g:compaction:1:model:1', sessionId: 'g' };
  await request(one, baseUrl);
  await tell('session_end', { sessionId: 'g', reason: 'new' });
  expect(warnings).toEqual([expect.stringMatching(/session g: .*503/)]);
  expect(await request(one, 'http://127.0.0.1:1/v1')).toBe('stream');
  await tell('session_end', { sessionId: 'g', reason: 'new' });
  expect(warnings).toHaveLength(2);
});

test('a session unknown to the server causes no warning', async () => {
  const { tell, request, warnings } = openClaw();
  const { posted, baseUrl, release } = await openServer(404);
  release();
  await request({ requestId: 'h:compaction:1:model:1', sessionId: 'h' }, baseUrl);
  await tell('session_end', { sessionId: 'h', reason: 'new' });
  expect(posted).toHaveLength(1);
  expect(warnings).toEqual([]);
});

test('a hang or error at the end of a session delays nothing for long', async () => {
  const hanging = openClaw(undefined, () => new Promise(() => {}));
  const one = { requestId: 'k:compaction:1:model:1', sessionId: 'k' };
  await hanging.request(one);
  const ended = hanging.tell('session_end', { sessionId: 'k', reason: 'new' });
  expect(await hanging.request(one)).toBe('stream');
  await ended;
  expect(hanging.warnings).toEqual([expect.stringMatching(/session k: timed out/)]);
  const breaking = openClaw(undefined, () => {
    throw new Error('no keys here');
  });
  await breaking.request(one);
  await breaking.tell('session_end', { sessionId: 'k', reason: 'new' });
  expect(await breaking.request(one)).toBe('stream');
});

test('the plugin serves the configured providers', () => {
  expect(openClaw().providers.map(({ id }) => id)).toEqual(['clawloop']);
  expect(openClaw({ providers: ['tier', 'other'] }).providers.map(({ id }) => id)).toEqual(['tier', 'other']);
});
