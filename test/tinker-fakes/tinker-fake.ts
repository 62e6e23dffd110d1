import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isObject } from '../../shared/lang/json.ts';
import type { DialectName } from '../../shared/tinker/training-server.ts';
import { binaryCall, callsOf, type FakeState } from './fake-calls.ts';
import { createControlPlane, FAKE_JOB } from './fake-control-plane.ts';
import { createFakeEngine } from './fake-engine.ts';
import { createFaults, type FakeFault } from './fake-faults.ts';
import { answerGet } from './fake-files.ts';
import { createFakeKeys } from './fake-keys.ts';
import { type Body, createPromises, Status } from './fake-promises.ts';
import { createFakeSessions } from './fake-sessions.ts';
import { type FakeTraits, traitsOf } from './fake-traits.ts';
import { decodeCall } from './protobuf-side.ts';
import { sendJson } from './send.ts';
import { BadRequest, openTrainedModels } from './trained-models.ts';

export type TinkerFakeOptions = {
  /** kind of server; default skyrl-jax */
  readonly dialect?: DialectName;
  readonly traits?: Partial<FakeTraits>;
  /** name that requests give the model; default `tiny` */
  readonly model?: string;
  /** folder in test/fixtures/reference/models; default qwen3-tiny */
  readonly reference?: string;
  /** models at a time; default 8 */
  readonly mostModels?: number;
  /** default: none is checked */
  readonly apiKey?: string;
  /** issues short-lived tokens that end after so many s */
  readonly tokensForS?: number;
  /** ms that a poll is held; default 100 */
  readonly pollMs?: number;
  /** where saved states are; default a temporary folder, removed by `stop` */
  readonly folder?: string;
  /** default any free port */
  readonly port?: number;
};

export type FakeRequest = {
  readonly path: string;
  readonly body: Body;
  readonly headers: IncomingMessage['headers'];
};

/**
 * A server of the Tinker API with a small real policy behind it: gradients, Adam, saved states and adapters are real.
 * `fault` plans what goes wrong.
 */
export async function tinkerFake(options: TinkerFakeOptions = {}) {
  const traits: FakeTraits = { ...traitsOf[options.dialect ?? 'skyrl-jax'], ...options.traits };
  const folder = options.folder ?? mkdtempSync(join(tmpdir(), 'tinker-fake-states-'));
  const trained = await openTrainedModels(traits, options.reference);
  const faults = createFaults();
  const engine = createFakeEngine(trained, folder, options.mostModels ?? 8);
  const promises = createPromises(faults);
  const sessions = createFakeSessions(engine, promises);
  const modelName = options.model ?? 'tiny';
  const state: FakeState = { traits, modelName, engine, faults, promises, sessions };
  const requests: FakeRequest[] = [];
  const place = { requests, contextTokens: trained.policy.config.maxPositions, origin: () => urlOf(server) };
  const handle = createHandler(state, place, options);
  const server = createServer((request, response) => {
    handle(request, response).catch((error: unknown) => {
      if (error instanceof Status) sendJson(response, error.status, { detail: error.message });
      else if (error instanceof BadRequest) sendJson(response, 400, { detail: error.message });
      else throw error;
    });
  });
  server.keepAliveTimeout = 5_000; // as uvicorn's
  server.listen(options.port ?? 0, '127.0.0.1');
  await once(server, 'listening');
  return {
    /** like that of a dedicated job, where there are such jobs */
    url: traits.adapter === 'promoted' ? `${urlOf(server)}/${FAKE_JOB}` : urlOf(server),
    model: state.modelName,
    /** the policy behind it, for the same numbers by our own engine */
    policy: trained.policy,
    requests,
    sessions,
    models: () => [...engine.models.values()],
    states: () => engine.states(),
    counts: engine.counts,
    fault: faults.plan,
    clearFaults: faults.clear,
    /** Lets held calls go on. */
    release: faults.release,
    /** Forgets what a killed server forgets; saved states stay. */
    restart: () => {
      engine.restart();
      promises.forget();
    },
    stop: async () => {
      faults.release();
      server.closeAllConnections();
      server.close();
      await promises.settled();
      trained.dispose();
      if (options.folder === undefined) rmSync(folder, { recursive: true, force: true });
    },
  };
}

export type TinkerFake = Awaited<ReturnType<typeof tinkerFake>>;

function urlOf(server: ReturnType<typeof createServer>): string {
  const address = server.address();
  return `http://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}`;
}

type Place = {
  readonly requests: FakeRequest[];
  readonly contextTokens: number;
  readonly origin: () => string;
};

/** What a binary request is for, as in JSON. */
function subjectOf(bytes: Uint8Array): Body {
  const { modelId, sequence } = decodeCall(bytes);
  return { model_id: modelId, seq_id: sequence };
}

function createHandler(state: FakeState, place: Place, options: TinkerFakeOptions) {
  const { traits, faults, promises } = state;
  const keys = createFakeKeys(options);
  const control = createControlPlane(state.engine, options.apiKey);
  const calls: ReturnType<typeof callsOf> = { ...callsOf(state), ...keys.calls };
  return async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const bytes = await bytesOf(request);
    const { pathname } = new URL(request.url ?? '', 'http://fake');
    const path = pathname.replace(`/${FAKE_JOB}`, '');
    const isBinary = request.headers['content-type'] === 'application/x-protobuf';
    const parsed: unknown = isBinary
      ? subjectOf(bytes)
      : bytes.length === 0
        ? {}
        : JSON.parse(bytes.toString('utf8'));
    const body: Body = isObject(parsed) ? parsed : {};
    place.requests.push({ path, body, headers: request.headers });
    if (path === '/fake/fault') {
      const { fault, ...when } = body as { readonly fault: FakeFault };
      faults.plan(fault, when);
      return sendJson(response, 200, {});
    }
    if (path === '/fake/elapse') {
      await state.sessions.elapse(Number(body.ms));
      return sendJson(response, 200, {});
    }
    const refusal = faults.take('refuse', path)?.fault;
    if (refusal !== undefined) {
      const { status, retryAfterS } = refusal;
      response.writeHead(status, retryAfterS === undefined ? {} : { 'retry-after': String(retryAfterS) });
      return void response.end(refusal.body);
    }
    const { method = '', headers } = request;
    if (traits.adapter === 'promoted' && /^\/(v1|signed)\//.test(path))
      return control.answer({ method, path, body, headers, origin: place.origin() }, response);
    keys.check(path, headers['x-api-key']);
    const name = path.replace('/api/v1/', '');
    if (request.method === 'GET')
      return answerGet(state, { ...place, path, origin: place.origin() }, response);
    if (method === 'DELETE') return remove(state, name, response);
    if (name === 'retrieve_future')
      return retrieve(state, body, response, { ...options, accept: headers.accept });
    if (/^sessions\/[^/]+\/finish$/.test(name)) return sendJson(response, 200, {});
    const call = calls[name];
    if (call === undefined) throw new Status(404, 'Not Found');
    if (isBinary && (!traits.protobuf || name !== 'forward_backward')) throw new Status(422, 'no JSON');
    const answer = isBinary ? binaryCall(state, path, bytes) : call(body, path);
    if (faults.take('lose-answer', path) !== undefined) {
      await promises.get(String(answer.request_id))?.done;
      return void response.destroy();
    }
    sendJson(response, 200, answer);
  };
}

async function bytesOf(request: IncomingMessage): Promise<Buffer> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part);
  return Buffer.concat(parts);
}

function remove({ engine }: FakeState, name: string, response: ServerResponse): void {
  const [, run, saved] = /^training_runs\/([^/]+)\/checkpoints\/(.+)$/.exec(name) ?? [];
  const target = `tinker://${run}/${saved}`;
  if (!engine.isSaved(target)) throw new Status(404, `Checkpoint not found: ${target}`);
  engine.remove(target);
  response.writeHead(204);
  response.end();
}

/** A long poll. */
async function retrieve(
  { traits, faults, promises }: FakeState,
  { request_id }: Body,
  response: ServerResponse,
  { pollMs = 100, accept = '' }: Pick<TinkerFakeOptions, 'pollMs'> & { readonly accept: string | undefined },
): Promise<void> {
  const id = String(request_id);
  const dropped = faults.take('drop-promise', 'retrieve_future');
  if (dropped !== undefined) {
    promises.drop(id);
    throw new Status(dropped.fault.status, 'Future not found');
  }
  const future = promises.get(id);
  if (future === undefined) throw new Status(404, 'Future not found');
  const timer = Promise.withResolvers<void>();
  const timeout = setTimeout(timer.resolve, pollMs);
  await Promise.race([future.done, timer.promise]);
  clearTimeout(timeout);
  const { result, failure } = future;
  if (failure !== undefined) {
    const [status, body] = failureOf(traits.failure, failure);
    return sendJson(response, status, body);
  }
  if (result === undefined)
    return traits.pending === '408'
      ? sendJson(response, 408, { detail: 'Timeout waiting for result' })
      : sendJson(response, 200, { type: 'try_again', queue_state: 'active' });
  if (result.protobuf === undefined || !accept.includes('protobuf'))
    return sendJson(response, 200, result.json);
  response.writeHead(200, { 'content-type': 'application/x-protobuf' });
  response.end(result.protobuf);
}

function failureOf(shape: FakeTraits['failure'], detail: string): readonly [number, Body] {
  if (shape === 'error') return [200, { error: detail, category: 'user' }];
  if (shape === 'detail') return [400, { detail }];
  return [400, { type: 'RequestFailedResponse', error_message: detail }];
}
