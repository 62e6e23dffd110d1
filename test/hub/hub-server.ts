import { createHash } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A repository of the stand-in, by path. */
export type Repository = {
  /** 40 hex digits */
  readonly commit: string;
  readonly files: ReadonlyMap<string, Buffer>;
  /** Who asks without this token gets 401. */
  readonly token?: string;
};

export type Served = { readonly method: string; readonly path: string; readonly range: string | undefined };

/** What becomes of the next answer with a file's bytes. */
export type Fault =
  /** breaks the connection after so many bytes */
  | { readonly type: 'cut'; readonly after: number }
  /** sends so many bytes, then nothing, and keeps the connection */
  | { readonly type: 'hang'; readonly after: number }
  /** sends other bytes than the listing names */
  | { readonly type: 'garble' }
  | { readonly type: 'status'; readonly status: number };

/**
 * The part of the hub's HTTP API that fetching a model uses, on a port of this machine: a model's commit, its
 * file tree, and `resolve` with byte ranges by way of a redirect, as the hub does for large files.
 */
export async function startHubServer(repositories: Readonly<Record<string, Repository>>) {
  const served: Served[] = [];
  const faults: Fault[] = [];
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? '/', 'http://hub');
    served.push({ method: request.method ?? '', path: pathname, range: request.headers.range });
    answer(request, response, pathname);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

  function answer(request: IncomingMessage, response: ServerResponse, path: string) {
    const [, api, id, kind, revision, file] =
      /^\/(api\/models\/|cdn\/)?([^/]+\/[^/]+)\/(revision|tree|resolve|bytes)\/([^/]+)\/?(.*)$/.exec(path) ??
      [];
    const repository = id === undefined ? undefined : repositories[id];
    if (repository === undefined) return fail(response, 404, 'RepoNotFound', 'Repository not found');
    const { commit, files, token } = repository;
    if (token !== undefined && kind !== 'bytes' && request.headers.authorization !== `Bearer ${token}`)
      return fail(response, 401, 'GatedRepo', `Access to model ${id} is restricted.`);
    if (revision !== 'main' && revision !== commit)
      return fail(response, 404, 'RevisionNotFound', 'Invalid rev id');
    if (api === 'api/models/' && kind === 'revision')
      return sendJson(response, { _id: 'x', id, sha: commit });
    if (api === 'api/models/' && kind === 'tree') return sendJson(response, [...files].map(entryOf));
    const bytes = files.get(file ?? '');
    if (bytes === undefined) return fail(response, 404, 'EntryNotFound', 'Entry not found');
    if (kind === 'resolve' && isLarge(file!) && request.headers.range !== 'bytes=0-0') {
      response.writeHead(302, { location: `${url}/cdn/${id}/bytes/${revision}/${file}` }).end();
      return;
    }
    sendBytes(request, response, bytes, request.headers.range === 'bytes=0-0' ? undefined : faults.shift());
  }

  return {
    url,
    served,
    /** Faults of the answers to come, one each; what only asks for the size counts for none. */
    faults,
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function fail(response: ServerResponse, status: number, code: string, error: string): void {
  response.writeHead(status, { 'content-type': 'application/json', 'x-error-code': code });
  response.end(JSON.stringify({ error }));
}

function sendJson(response: ServerResponse, body: unknown): void {
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

const isLarge = (path: string): boolean => path.endsWith('.safetensors') || path.endsWith('.bin');

const hex = (algorithm: 'sha1' | 'sha256', ...parts: readonly (string | Buffer)[]): string =>
  parts.reduce((hash, part) => hash.update(part), createHash(algorithm)).digest('hex');

function entryOf([path, bytes]: readonly [string, Buffer]) {
  const size = bytes.length;
  const lfs = { oid: hex('sha256', bytes), size, pointerSize: 134 };
  const oid = hex('sha1', `blob ${size}\0`, bytes);
  return { type: 'file', path, size, oid, ...(isLarge(path) && { lfs }) };
}

function sendBytes(
  request: IncomingMessage,
  response: ServerResponse,
  all: Buffer,
  fault: Fault | undefined,
) {
  if (fault?.type === 'status') return fail(response, fault.status, 'Fault', 'for now');
  const [, first, last] = /^bytes=(\d+)-(\d+)$/.exec(request.headers.range ?? '') ?? [];
  const from = Number(first ?? 0);
  const part = all.subarray(from, Math.min(Number(last ?? all.length - 1) + 1, all.length));
  response.writeHead(first === undefined ? 200 : 206, {
    etag: '"x"',
    'content-length': part.length,
    ...(first !== undefined && { 'content-range': `bytes ${from}-${from + part.length - 1}/${all.length}` }),
  });
  if (fault === undefined) response.end(part);
  else if (fault.type === 'garble') response.end(Buffer.from(part.map((byte) => byte ^ 1)));
  else {
    response.write(part.subarray(0, fault.after), () => {
      if (fault.type === 'cut') response.destroy();
    });
  }
}
