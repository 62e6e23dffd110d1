import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { ConsoleConfig } from '../../shared/config/console.ts';
import { BatchRequested } from '../../shared/events/batch-requested.ts';
import { LearningPaused } from '../../shared/events/learning-paused.ts';
import type { EventLog } from '../../shared/log/event-log.ts';
import { openSqliteLog } from '../../shared/log/sqlite/open-sqlite-log.ts';
import { createAccessKey } from '../../shared/runtime/access-keys.ts';
import { dataFolder } from '../../shared/runtime/data-folder.ts';
import { openFileKeys } from '../../shared/runtime/key-store.ts';
import { openKnownKeys } from '../../shared/runtime/known-keys.ts';
import { createLogger } from '../../shared/runtime/logger.ts';
import { createMetrics } from '../../shared/runtime/metrics.ts';
import type { ConsoleDeps } from './api/console-deps.ts';
import { createAudits } from './audits.ts';
import { followLog } from './follow-log.ts';
import { isForeign } from './http/door.ts';
import { createConsoleMetrics } from './metrics.ts';
import { createCached } from './model/cached.ts';
import { createConsoleModel } from './model/console-model.ts';
import { createShownTexts } from './model/texts.ts';
import { createConsoleServer } from './server.ts';

let folder: string;
let log: EventLog;
const stop = new AbortController();
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'clawloop-console-'));
  log = await openSqliteLog({ folder: join(folder, 'log'), partitions: 2 });
});
afterAll(async () => {
  stop.abort();
  await log.close();
  await rm(folder, { recursive: true, force: true });
});

const paused = (n: number) =>
  LearningPaused.create({
    id: `pause-${n}`,
    source: 'test',
    time: '2026-01-01T00:00:00.000Z',
    data: { adapter: 'default', reason: `<img src=x onerror=alert(${n})>` },
  });

async function openConsole(
  name: string,
  settings: object = {},
  logAway: ConsoleDeps['logAway'] = () => null,
) {
  const data = dataFolder(join(folder, name));
  const config = ConsoleConfig.parse({ refreshMs: 50, ...settings });
  const model = createConsoleModel();
  const reader = followLog({
    log,
    onRecord: model.on,
    onRound: () => {},
    refreshMs: config.refreshMs,
    signal: stop.signal,
  });
  const registry = createMetrics('console');
  const storedKeys = openFileKeys(data.keys);
  const keys = openKnownKeys({ keys: storedKeys, configured: undefined, always: false });
  const deps = {
    config,
    log,
    data,
    model,
    reader,
    keys,
    storedKeys,
    audits: createAudits(config, stop.signal),
    cached: createCached(model.revision, () => performance.now(), 0),
    texts: createShownTexts(log),
    logAway,
    trimmed: () => trimmed,
    stopping: stop.signal,
  };
  const figures = { turns: () => 0, progress: () => 1, listeners: () => 0, stopped: () => 0 };
  const { server, live } = await createConsoleServer(deps, {
    readiness: () => undefined,
    registry,
    logger: createLogger('console', 'silent'),
    metrics: createConsoleMetrics(registry, figures),
  });
  return { server, live, model, data, reader };
}

/** What a watch for trims would say. */
const trimmed = [{ topic: 'turns', before: '2026-01-01T00:00:00.000Z' }];
const local = { host: '127.0.0.1:8704' };

describe('who is let in', () => {
  test('without keys: this machine, by a loopback name, from its own page', async () => {
    const { server } = await openConsole('open');
    const status = async (url: string, headers: Record<string, string>, method: 'GET' | 'POST' = 'GET') =>
      (await server.inject({ url, headers: { ...local, ...headers }, method })).statusCode;
    expect(await status('/api/overview', {})).toBe(200);
    expect((await server.inject({ url: '/api/overview', headers: local })).json()).toMatchObject({ trimmed });
    expect(await status('/api/overview', { host: 'rebound.example' })).toBe(403);
    expect(await status('/', { host: 'rebound.example' })).toBe(403);
    expect(await status('/api/overview', { origin: 'http://127.0.0.1:8704' })).toBe(200);
    for (const origin of ['https://page.example', 'http://127.0.0.1:9999', 'null'])
      for (const url of ['/api/audit', '/serving/v1/learning/pause'])
        expect(await status(url, { origin }, 'POST'), `${origin} ${url}`).toBe(403);
    expect(await status('/api/overview', { 'sec-fetch-site': 'cross-site' })).toBe(403);
    expect(await status('/api/overview', { 'sec-fetch-site': 'same-site' })).toBe(403);
    expect(await status('/', { 'sec-fetch-site': 'cross-site' })).toBe(200); // a link from elsewhere
  });

  test('with keys: an operator, and nobody else', async () => {
    const { server, data } = await openConsole('keys');
    await rm(data.root, { recursive: true, force: true });
    const { mkdir } = await import('node:fs/promises');
    await mkdir(data.root, { recursive: true });
    const person = await createAccessKey(data.keys, 'ann');
    const operator = await createAccessKey(data.keys, 'op', { operator: true });
    const ask = async (url: string, key?: string) => {
      const headers = { ...local, ...(key === undefined ? {} : { authorization: `Bearer ${key}` }) };
      const { statusCode, body } = await server.inject({ url, headers });
      return { status: statusCode, code: (JSON.parse(body) as { error?: { code: string } }).error?.code };
    };
    for (const url of ['/api/overview', '/api/turns', '/api/live', '/serving/v1/models', '/api/export']) {
      expect(await ask(url), url).toEqual({ status: 401, code: 'invalid_key' });
      expect(await ask(url, 'wrong'), url).toEqual({ status: 401, code: 'invalid_key' });
      expect(await ask(url, person.secret), url).toEqual({ status: 403, code: 'not_an_operator' });
    }
    for (const url of ['/%61pi/overview', '/api/%6fverview', '/%61%70%69/turns', '/serving/%76%31/models'])
      expect((await ask(url)).status, url).toBe(401);
    expect(await ask('/api/overview', operator.secret)).toMatchObject({ status: 200 });
    expect((await server.inject({ url: '/metrics', headers: local })).statusCode).toBe(401);
    expect((await server.inject({ url: '/healthz', headers: local })).statusCode).toBe(200);
    const people = await server.inject({
      url: '/api/people',
      headers: { ...local, authorization: `Bearer ${operator.secret}` },
    });
    expect(people.body).toContain(person.id);
    for (const secret of [person.secret, operator.secret]) expect(people.body).not.toContain(secret);
    expect(people.body).not.toContain('sha256');
  });

  test.each([
    ['a link from another page', 'GET', '/', { 'sec-fetch-site': 'cross-site' }, false],
    ['its own module', 'GET', '/main.ts', { 'sec-fetch-site': 'same-origin' }, false],
    ['a typed address', 'GET', '/api/overview', { 'sec-fetch-site': 'none' }, false],
    ['a frame of another page', 'GET', '/api/overview', { 'sec-fetch-site': 'cross-site' }, true],
    ['a form of another page', 'POST', '/', { 'sec-fetch-site': 'cross-site' }, true],
    ['a program', 'POST', '/api/audit', {}, false],
  ] as const)('%s', (_name, method, route, headers, foreign) => {
    expect(isForeign({ method, route, headers: { ...local, ...headers } })).toBe(foreign);
  });
});

test('the page allows no script, style or address but its own, and no text becomes markup', async () => {
  const { server } = await openConsole('page');
  const { headers, body } = await server.inject({ url: '/', headers: local });
  const policy = String(headers['content-security-policy']);
  expect(policy).toMatch(/default-src 'none'/);
  expect(policy).toMatch(/require-trusted-types-for 'script'/);
  expect(policy).not.toMatch(/unsafe|https?:/);
  expect(body).not.toMatch(/https?:\/\//); // works offline
  const modules = [
    '/main.ts',
    '/parts.ts',
    '/lib/lit-html.js',
    '/lib/uplot.js',
    '/lib/eventsource-parser/index.js',
  ];
  for (const url of modules) {
    const module = await server.inject({ url, headers: local });
    expect(module.headers['content-type'], url).toMatch(/^text\/javascript/);
  }
  for (const url of ['/..%2fmain.ts', '/page/main.ts', '/tsconfig.json', '/main.test.ts'])
    expect((await server.inject({ url, headers: local })).statusCode, url).toBe(404);
});

describe('what it reads', () => {
  test('records arrive after the start, each at its place; a missing place is an error of the client', async () => {
    await log.append([paused(1)]);
    const { server, model, reader } = await openConsole('read');
    await vi.waitFor(() => expect(reader.isCaughtUp()).toBe(true));
    expect(model.decisions.of('default').state().isPaused).toBe(true);
    await log.append([
      paused(2),
      BatchRequested.create({
        id: 'r',
        source: 'test',
        time: '2026-01-01T00:00:00.000Z',
        data: { adapter: 'default', after: 0, reason: 'operator' },
      }),
    ]);
    const decisions = () => model.decisions.of('default').latest(10);
    await vi.waitFor(() => expect(decisions()).toHaveLength(3));
    const { topic, partition, offset } = decisions()[1]!.place;
    const record = await server.inject({
      url: `/api/records/${topic}/${partition}/${offset}`,
      headers: local,
    });
    expect(JSON.parse(record.body)).toMatchObject({ event: { id: 'pause-2', type: 'learning.paused' } });
    for (const url of [
      '/api/records/training/0/999',
      '/api/records/nonsense/0/0',
      '/api/records/turns/-1/0',
      '/api/turns/none',
    ])
      expect((await server.inject({ url, headers: local })).statusCode, url).toBe(404);
    for (const url of [
      '/api/turns?limit=0',
      '/api/turns?limit=x',
      '/api/turns?outcome=maybe',
      '/api/turns?version=-1',
    ])
      expect((await server.inject({ url, headers: local })).statusCode, url).toBe(400);
    expect(
      (await server.inject({ url: '/api/turns?cursor=nonsense&words=a', headers: local })).statusCode,
    ).toBe(200);
  });

  test('a log that does not answer: what was read is shown, with the time since when', async () => {
    await log.append([paused(3)]);
    const away = { place: 'Kafka at broker:9092', since: '2026-01-01T00:00:00.000Z' };
    let now: typeof away | null = away;
    const { server, reader } = await openConsole('away', {}, () => now);
    await vi.waitFor(() => expect(reader.isCaughtUp()).toBe(true));
    const ask = async (url: string) => JSON.parse((await server.inject({ url, headers: local })).body);
    expect(await ask('/api/overview')).toMatchObject({ logAway: away });
    const { decisions } = await ask('/api/versions');
    expect(decisions[0]).toMatchObject({ data: { reason: paused(3).data.reason } });
    expect(await ask('/api/flow')).toMatchObject({ log: null, services: [{ name: 'serving' }, {}, {}, {}] });
    now = null;
    expect(await ask('/api/overview')).toMatchObject({ logAway: null });
  });

  test('the live stream begins with the state, and ends with the console', async () => {
    const { server, live } = await openConsole('live');
    await server.listen({ host: '127.0.0.1', port: 0 });
    const { port } = server.server.address() as AddressInfo;
    const response = await fetch(`http://127.0.0.1:${port}/api/live`);
    expect(response.headers.get('content-type')).toBe('text/event-stream');
    expect(response.headers.get('content-security-policy')).toContain("default-src 'none'");
    const reader = response.body!.getReader();
    const { value } = await reader.read();
    expect(new TextDecoder().decode(value)).toMatch(/^retry: 1000\ndata: \{"logId"/);
    live.close();
    await expect(reader.read().then(({ done }) => done)).resolves.toBe(true);
    await server.close();
  });
});

test('an export that fails says why, and does not look like an empty one', async () => {
  const ask = async (name: string, dataFolder: string) => {
    const { server } = await openConsole(name, { dataFolder });
    const { statusCode, body } = await server.inject({ url: '/api/export', headers: local });
    return { statusCode, body };
  };
  const failed = await ask('no-export', join(folder, 'nowhere'));
  expect(failed.statusCode).toBe(500);
  expect(JSON.parse(failed.body)).toMatchObject({
    error: { code: 'export_failed', message: expect.stringMatching(/could not be exported: .*nowhere/) },
  });
  expect(await ask('empty-export', folder)).toEqual({ statusCode: 200, body: '' });
});

describe('what goes to serving', () => {
  test('the key and the session are passed on, and nothing else of the request', async () => {
    const seen: unknown[] = [];
    const upstream = createServer((request, response) => {
      const { authorization, cookie, 'x-session-id': session } = request.headers;
      seen.push({ url: request.url, authorization, cookie, session });
      response
        .setHeader('content-type', 'application/json')
        .setHeader('set-cookie', 'a=b')
        .end('{"ok":true}');
    }).listen(0, '127.0.0.1');
    await vi.waitFor(() => expect(upstream.listening).toBe(true));
    const { port } = upstream.address() as AddressInfo;
    const { server } = await openConsole('proxy', { servingUrl: `http://127.0.0.1:${port}` });
    const answer = await server.inject({
      method: 'POST',
      url: '/serving/v1/chat/completions',
      headers: { ...local, authorization: 'Bearer k', cookie: 'c', 'x-session-id': 's' },
      payload: { messages: [] },
    });
    expect([answer.statusCode, answer.body, answer.headers['set-cookie']]).toEqual([
      200,
      '{"ok":true}',
      undefined,
    ]);
    expect(seen).toEqual([
      { url: '/v1/chat/completions', authorization: 'Bearer k', cookie: undefined, session: 's' },
    ]);
    for (const url of ['/serving/metrics', '/serving/v1/embeddings', '/serving//v1/models'])
      expect((await server.inject({ url, headers: local })).statusCode, url).toBe(404);
    upstream.close();
  });

  test('serving is down: the page gets a reason, and the console goes on', async () => {
    const { server } = await openConsole('down', { servingUrl: 'http://127.0.0.1:1' });
    const answer = await server.inject({
      method: 'POST',
      url: '/serving/v1/learning/pause',
      headers: local,
      payload: {},
    });
    expect([answer.statusCode, JSON.parse(answer.body)]).toEqual([
      502,
      { error: { code: 'serving_down', message: 'Serving does not answer at http://127.0.0.1:1.' } },
    ]);
    const flow = await server.inject({ url: '/api/flow', headers: local });
    expect(JSON.parse(flow.body)).toMatchObject({
      services: [{ name: 'serving', state: 'down' }, {}, {}, {}],
    });
  });
});
