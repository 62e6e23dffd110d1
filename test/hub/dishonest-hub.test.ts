import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { HubSettings } from '../../shared/hub/config.ts';
import { HubRefused } from '../../shared/hub/errors.ts';
import { fetchModel } from '../../shared/hub/fetch-model.ts';
import { hubFetch } from '../../shared/hub/hub-fetch.ts';
import { modelConfigJson, parseModelConfig } from '../../shared/policy/model/model-config.ts';

const commit = 'a'.repeat(40);
const asked = { id: 'someone/small', revision: 'main' };

const config = modelConfigJson(
  parseModelConfig({
    model_type: 'llama',
    vocab_size: 8,
    hidden_size: 8,
    intermediate_size: 8,
    num_hidden_layers: 1,
    num_attention_heads: 2,
    max_position_embeddings: 16,
  }),
);
const files = new Map([
  ['config.json', Buffer.from(JSON.stringify(config))],
  ['tokenizer.json', Buffer.from('{}')],
  ['tokenizer_config.json', Buffer.from('{"a":1}')],
  ['model.safetensors', Buffer.from('weights')],
]);

type Entry = Record<string, unknown> & { readonly path: string };
const gitOid = (bytes: Buffer) =>
  createHash('sha1').update(`blob ${bytes.length}\0`).update(bytes).digest('hex');
const honest = (): Entry[] =>
  [...files].map(([path, bytes]) => ({ type: 'file', path, size: bytes.length, oid: gitOid(bytes) }));

let root: string;
let hub: HubSettings;
let server: Server;
/** What the hub says this time. */
let sha: unknown;
let listing: Entry[];
let resolve: (path: string, request: IncomingMessage, response: ServerResponse) => void;
let seen: { readonly path: string; readonly token: string | undefined }[];

const sendFile = (path: string, { headers }: IncomingMessage, response: ServerResponse): void => {
  const bytes = files.get(path) ?? Buffer.alloc(0);
  const isProbe = headers.range === 'bytes=0-0';
  const range = isProbe ? { 'content-range': `bytes 0-0/${bytes.length}` } : {};
  response.writeHead(isProbe ? 206 : 200, { etag: '"x"', ...range });
  response.end(isProbe ? bytes.subarray(0, 1) : bytes);
};

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'dishonest-'));
  [sha, listing, resolve, seen] = [commit, honest(), sendFile, []];
  server = createServer((request, response) => {
    const path = request.url ?? '';
    seen.push({ path, token: request.headers.authorization });
    const json = (body: unknown) =>
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    if (path.includes('/revision/')) json({ _id: 'x', id: asked.id, sha });
    else if (path.includes('/tree/')) json(listing);
    else resolve(path.split('/').at(-1)!, request, response);
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  hub = { cache: join(root, 'cache'), url, token: undefined, plainHttp: false };
});
afterEach(async () => {
  server.closeAllConnections();
  await new Promise((done) => server.close(done));
  await rm(root, { recursive: true });
});

const fetching = (id = asked, settings = hub) =>
  fetchModel(settings, id, {
    onProgress: () => {},
    onWaiting: () => {},
    signal: new AbortController().signal,
    retryMs: 1,
    idleMs: 20_000,
  });

/** Everything below a folder that is not the cache. */
const outside = async () =>
  (await readdir(root, { recursive: true })).filter((path) => path !== 'cache' && !path.startsWith('cache/'));

const listedAs = (path: string, change: Record<string, unknown>) => {
  listing = honest().map((entry) => (entry.path === path ? { ...entry, ...change } : entry));
};

test('an honest hub of this kind is believed', async () => {
  const folder = await fetching();
  for (const [name, bytes] of files) expect((await readFile(join(folder, name))).equals(bytes)).toBe(true);
});

test.each([
  ['a path', '../../../victim/.docker'],
  ['a short one', 'abc'],
  ['capitals', 'A'.repeat(40)],
  ['nothing', undefined],
  ['an object', { toString: 'x' }],
])('a commit that is %s is refused, and nothing is written outside of the cache', async (_about, named) => {
  sha = named;
  await expect(fetching()).rejects.toThrow(HubRefused);
  await expect(fetching()).rejects.toThrow('names an invalid commit');
  expect(await outside()).toEqual([]);
});

test('of a commit that was asked for no other one comes', async () => {
  const pinned = { ...asked, revision: 'e'.repeat(40) };
  await expect(fetching(pinned)).rejects.toThrow(
    `asked for commit ${pinned.revision}, but the hub answers with`,
  );
  sha = pinned.revision;
  expect(await fetching(pinned)).toContain(pinned.revision);
});

test.each([
  ['oid', { oid: '../../../secret.txt' }],
  ['oid', { oid: undefined }],
  ['lfs.oid', { lfs: { oid: '../../../secret.txt', size: 6, pointerSize: 100 } }],
  ['size', { size: -1 }],
  ['size', { size: '6' }],
])('a file whose %s is none makes no local file part of a model: %j', async (field, change) => {
  await writeFile(join(root, 'secret.txt'), 'secret');
  listedAs('tokenizer_config.json', change);
  await expect(fetching()).rejects.toThrow(HubRefused);
  await expect(fetching()).rejects.toThrow(`lists tokenizer_config.json with an invalid ${field}`);
  expect(await outside()).toEqual(['secret.txt']);
});

test('a file that is listed twice is refused', async () => {
  listing = [...honest(), ...honest().slice(0, 1)];
  await expect(fetching()).rejects.toThrow('lists a file twice');
});

test('names that are no file of a model are not fetched', async () => {
  listing = [...honest(), { ...honest()[1]!, path: '../config.json' }, { ...honest()[1]!, path: 7 as never }];
  const folder = await fetching();
  expect((await readdir(folder)).sort()).toEqual([...files.keys()].sort());
});

test('bytes that are in the cache already are read too, and replaced where the digest is another', async () => {
  const blobs = join(hub.cache, 'models--someone--small', 'blobs');
  await mkdir(blobs, { recursive: true });
  await writeFile(join(root, 'secret.txt'), 'secret');
  const bytes = files.get('tokenizer_config.json')!;
  await symlink(join(root, 'secret.txt'), join(blobs, gitOid(bytes)));
  await writeFile(join(blobs, gitOid(files.get('model.safetensors')!)), 'others');
  const folder = await fetching();
  for (const [name, expected] of files)
    expect((await readFile(join(folder, name))).equals(expected)).toBe(true);
  expect(await readFile(join(root, 'secret.txt'), 'utf8')).toBe('secret');
});

test('a link that a snapshot holds already is no file of the model', async () => {
  const snapshot = join(hub.cache, 'models--someone--small', 'snapshots', commit);
  await mkdir(snapshot, { recursive: true });
  await writeFile(join(root, 'secret.txt'), 'secret');
  await symlink(join(root, 'secret.txt'), join(snapshot, 'tokenizer_config.json'));
  const folder = await fetching();
  expect(await readFile(join(folder, 'tokenizer_config.json'), 'utf8')).toBe('{"a":1}');
  expect(await readFile(join(root, 'secret.txt'), 'utf8')).toBe('secret');
});

test('a configuration that is none is refused, and not tried again', async () => {
  const bytes = Buffer.from('{"model_type":"llama"}');
  resolve = (path, request, response) =>
    path === 'config.json'
      ? response.writeHead(206, { etag: '"x"', 'content-range': `bytes 0-0/${bytes.length}` }).end(bytes)
      : sendFile(path, request, response);
  listedAs('config.json', { size: bytes.length, oid: gitOid(bytes) });
  await expect(fetching()).rejects.toThrow(HubRefused);
  await expect(fetching()).rejects.toThrow('cannot read its config.json');
});

test('plain http beyond this machine is refused unless a setting allows it', async () => {
  const away = { ...hub, url: 'http://hub.invalid' };
  await expect(fetching(asked, away)).rejects.toThrow(/plain http: .*--hub-plain-http/);
  await expect(fetching(asked, { ...away, plainHttp: true })).rejects.not.toThrow('plain http');
  await expect(fetching(asked, { ...hub, url: 'ftp://hub.invalid' })).rejects.toThrow('https is needed');
});

test('nor is a redirect followed to plain http, nor to this machine from elsewhere', async () => {
  resolve = (_path, _request, response) =>
    response.writeHead(302, { location: 'http://cdn.invalid/x' }).end();
  await expect(fetching()).rejects.toThrow('http://cdn.invalid/x is plain http');
  const away = { url: 'https://hub.invalid', plainHttp: true };
  const ask = hubFetch(away, new AbortController().signal);
  for (const host of ['127.0.0.1:1', 'localhost', '[::1]', '0.0.0.0', '2130706433'])
    await expect(ask(`https://${host}/secret`)).rejects.toThrow('leads to this machine');
  resolve = (_path, _request, response) => response.writeHead(302, { location: '/again' }).end();
  await expect(fetching()).rejects.toThrow('redirects more than 10 times');
});

test('the token goes to the hub alone', async () => {
  const heard: (string | undefined)[] = [];
  const other = createServer((request, response) => {
    heard.push(request.headers.authorization);
    sendFile(request.url!.slice(1), request, response);
  });
  await new Promise<void>((done) => other.listen(0, '127.0.0.1', done));
  resolve = (path, _request, response) =>
    response
      .writeHead(302, { location: `http://127.0.0.1:${(other.address() as AddressInfo).port}/${path}` })
      .end();
  await fetching(asked, { ...hub, token: 'hf_secret' });
  expect(seen.every(({ token }) => token === 'Bearer hf_secret')).toBe(true);
  expect(heard.length).toBeGreaterThanOrEqual(files.size);
  expect(heard.every((token) => token === undefined)).toBe(true);
  other.closeAllConnections();
  await new Promise((done) => other.close(done));
});
