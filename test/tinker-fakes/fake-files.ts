import type { ServerResponse } from 'node:http';
import type { FakeState } from './fake-calls.ts';
import { Status } from './fake-promises.ts';
import { sendJson } from './send.ts';

const filePath =
  /^\/api\/v1\/training_runs\/([^/]+)\/checkpoints\/(?:(external_weights)\/)?([^/]+)\/(archive|download|external_weights_urls|files\/.*)$/;

/** Answers the GET requests: the server's report, and the files of saved adapters. */
export async function answerGet(
  { engine, modelName }: FakeState,
  {
    path,
    origin,
    contextTokens,
  }: { readonly path: string; readonly origin: string; readonly contextTokens: number },
  response: ServerResponse,
): Promise<void> {
  if (path === '/api/v1/healthz') return sendJson(response, 200, { status: 'ok' });
  if (path === '/api/v1/get_server_capabilities') {
    const model = { model_name: modelName, max_context_length: contextTokens };
    return sendJson(response, 200, { supported_models: [model] });
  }
  if (path === '/fake/state') {
    const models = [...engine.models.values()].map(({ id, session, requests }) => ({
      id,
      session,
      requests,
    }));
    return sendJson(response, 200, { models, states: engine.states(), ...engine.counts });
  }
  const [, run, kind = 'sampler_weights', name, what] = filePath.exec(path) ?? [];
  const target = `tinker://${run}/${kind}/${name}`;
  if (what === undefined || !engine.isSaved(target))
    throw new Status(404, `Checkpoint not found: ${run}/${name}`);
  if (what === 'archive') {
    response.writeHead(302, { location: path.replace(/archive$/, 'download') });
    return void response.end();
  }
  if (what === 'download') return void response.end(await engine.archive(target));
  const files = (await engine.files(target))!;
  if (what === 'external_weights_urls') {
    const here = `${origin}${path.replace(/external_weights_urls$/, 'files')}`;
    const urls = Object.fromEntries([...files.keys()].map((file) => [file, `${here}/${file}?signature=1`]));
    return sendJson(response, 200, { urls, expires: '2030-01-01T00:00:00Z' });
  }
  const file = files.get(what.slice('files/'.length));
  if (file === undefined) throw new Status(404, 'Not Found');
  response.end(file);
}
