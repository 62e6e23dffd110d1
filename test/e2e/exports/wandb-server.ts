import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { gunzipSync } from 'node:zlib';

type Uploaded = {
  /** rows of the history, by number */
  readonly history: Map<number, Readonly<Record<string, number>>>;
  /** variables of the request that creates the run */
  readonly created: Record<string, unknown>[];
  readonly complete: () => boolean;
};

const entity = { id: 'u', entity: 'me', username: 'me', flags: '{}', teams: { edges: [] } };

/** Receives the uploads of `wandb sync`, with the answers of W&B's server that the program needs. */
export async function startWandbServer() {
  const history: Uploaded['history'] = new Map();
  const created: Uploaded['created'] = [];
  let complete = false;
  const graphql = ({ query, variables }: { query: string; variables: Record<string, unknown> }) => {
    if (!query.includes('upsertBucket')) {
      const serverInfo = {
        features: [],
        cliVersionInfo: { max_cli_version: '9.9.9' },
        latestLocalVersionInfo: null,
      };
      return {
        data: {
          viewer: entity,
          serverInfo,
          model: null,
          createRunFiles: { runID: 'x', uploadHeaders: [], files: [] },
        },
      };
    }
    created.push(variables);
    const project = { id: 'p', name: 'clawloop', entity: { id: 'e', name: 'me' } };
    const run = {
      id: 'x',
      name: 'run',
      displayName: 'default',
      description: '',
      config: '{}',
      sweepName: null,
    };
    return { data: { upsertBucket: { bucket: { ...run, project, historyLineCount: 0 }, inserted: true } } };
  };
  const server = createServer(async (request, response) => {
    const raw = await buffer(request);
    const body = request.headers['content-encoding'] === 'gzip' ? gunzipSync(raw) : raw;
    let answer = {};
    if (request.url === '/graphql') answer = graphql(JSON.parse(body.toString()));
    if (request.url?.endsWith('/file_stream')) {
      const { files, ...rest } = JSON.parse(body.toString()) as {
        files?: Record<string, { offset: number; content: readonly string[] }>;
        complete?: boolean;
      };
      const rows = files?.['wandb-history.jsonl'];
      for (const [index, line] of (rows?.content ?? []).entries())
        history.set(rows!.offset + index, JSON.parse(line));
      complete ||= rest.complete === true;
    }
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const uploaded: Uploaded = { history, created, complete: () => complete };
  return {
    url: `http://127.0.0.1:${port}`,
    uploaded,
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
