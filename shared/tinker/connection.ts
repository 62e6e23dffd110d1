import type { z } from 'zod';
import { pause } from '../lang/async.ts';
import { ConfigAnswer, explanationOf, FailedFuture, FutureAnswer, TokenAnswer, TryAgain } from './answers.ts';
import { createCredentials } from './credentials.ts';
import type { Dialect } from './dialects.ts';
import { TinkerError } from './errors.ts';
import { defaultWaitsMs, download, exchange, textOf } from './exchange.ts';
import { type HttpAnswer, openHttp } from './http.ts';
import type { Meter } from './meter.ts';
import { type AnswerReader, createAnswerReader, type RawResult, type Subject } from './read-answers.ts';

export type { RawResult } from './read-answers.ts';

export type ConnectionSettings = {
  /** what comes before `/api/v1` */
  readonly url: string;
  readonly apiKey: string;
  readonly project: string | undefined;
  readonly dialect: Dialect;
  readonly meter: Meter;
  /** ms before each repeat of a request; default about a minute in all */
  readonly waitsMs?: readonly number[] | undefined;
  /** ms until the result of a call; default half an hour, since the queue of a server may be long */
  readonly callLimitMs?: number | undefined;
};

export type CallOptions = Subject & {
  readonly signal: AbortSignal;
  /** sending it twice does no harm, whatever the server does */
  readonly isRepeatable?: boolean;
  readonly contentType?: string;
  readonly accept?: string;
  readonly limitMs?: number;
  /** goes to the control plane of the same host, whose key is a bearer token */
  readonly isControl?: boolean;
  /** the answer may be empty */
  readonly isEmpty?: boolean;
  /** Called with the id of a model that the server has promised to create. */
  readonly onModel?: (id: string) => void;
};

export type Connection = Pick<AnswerReader, 'parse' | 'badAnswer'> & {
  readonly settings: ConnectionSettings;
  /** @throws an error of the table */
  readonly call: <Schema extends z.ZodType>(
    method: 'GET' | 'POST' | 'DELETE',
    path: string,
    schema: Schema,
    body: unknown,
    options: CallOptions,
  ) => Promise<z.output<Schema>>;
  /** Posts a request and polls its result. */
  readonly future: (path: string, body: object | Uint8Array, options: CallOptions) => Promise<RawResult>;
  /** Polls a result that the server has promised. */
  readonly result: (id: string, path: string, options: CallOptions) => Promise<RawResult | undefined>;
  /** A file, from this server or where it points to. The key does not leave this server. */
  readonly file: (pathOrUrl: string, limit: number, options: CallOptions) => Promise<HttpAnswer>;
  readonly close: () => Promise<void>;
};

/** of one exchange that is no long poll */
const REQUEST_LIMIT_MS = 60_000;
/** of a poll; SkyRL holds it for 300 s */
const POLL_LIMIT_MS = 400_000;
const CALL_LIMIT_MS = 30 * 60_000;
/** of a file, such as an adapter of a gigabyte */
const FILE_LIMIT_MS = 30 * 60_000;
const POLL = 'retrieve_future';
/** How often a promise that the server has dropped is asked for again. */
const MOST_RESENDS = 3;
/** ms between polls that end at once, the longest; most servers hold a poll until there is a result */
const LONGEST_POLL_PAUSE_MS = 1_000;

type Send = (
  method: 'GET' | 'POST' | 'DELETE',
  path: string,
  body: string | Uint8Array | undefined,
  options: CallOptions,
) => Promise<HttpAnswer>;

/** @throws INVALID_REQUEST if no header can hold the key */
export function openConnection(settings: ConnectionSettings): Connection {
  const { dialect, meter } = settings;
  const base = `${settings.url.replace(/\/+$/, '')}/api/v1/`;
  const http = openHttp();
  const waitsMs = settings.waitsMs ?? defaultWaitsMs;
  const sendAs = async (
    credential: string,
    ...[method, path, body, options]: Parameters<Send>
  ): Promise<HttpAnswer> => {
    const { signal, isRepeatable = false, contentType, accept, limitMs = REQUEST_LIMIT_MS } = options;
    meter.countRequest();
    const headers = {
      ...(options.isControl ? { authorization: `Bearer ${credential}` } : { 'x-api-key': credential }),
      accept: accept ?? 'application/json',
      ...(body !== undefined && { 'content-type': contentType ?? 'application/json' }),
    };
    const url = options.isControl ? path : base + path;
    return exchange(
      http,
      { method, url, headers, ...(body !== undefined && { body }) },
      {
        mayRepeat: isRepeatable || dialect.capabilities.deduplicates,
        waitsMs,
        limitMs,
        signal,
        isPoll: path === POLL,
        hide: credentials.hide,
      },
    );
  };
  const credentials = createCredentials(settings.apiKey, async (key, signal) => {
    if (!dialect.hosted) return undefined;
    const ask = (path: string, body: object) =>
      sendAs(key, 'POST', path, JSON.stringify(body), { signal, isRepeatable: true });
    const config = await ask('client/config', { sdk_version: SDK_VERSION });
    if (config.status === 404) return undefined;
    if (!reader.parseAnswer(ConfigAnswer, config, 'client/config', {}).pjwt_auth_enabled) return undefined;
    return reader.parseAnswer(TokenAnswer, await ask('auth/token', {}), 'auth/token', {}).jwt;
  });
  const reader = createAnswerReader({ url: base, project: settings.project }, credentials.hide);
  const send: Send = async (method, path, body, options) =>
    sendAs(await credentials.current(options.signal), method, path, body, options);
  const poll = createPoll(dialect, send, reader);
  return {
    settings,
    call: async (method, path, schema, body, options) =>
      reader.parseAnswer(schema, await send(method, path, encoded(body), options), path, options),
    future: createFuture(settings, { send, poll, reader }),
    result: poll,
    file: async (place, limit, options) => {
      const isOurs = !/^https?:/.test(place);
      const url = isOurs ? base + place : place;
      const headers = isOurs ? { 'x-api-key': await credentials.current(options.signal) } : {};
      meter.countRequest();
      const timing = { mayRepeat: true, waitsMs, limitMs: FILE_LIMIT_MS, hide: credentials.hide };
      const request = { method: 'GET', url, headers, limit } as const;
      const answer = await download(http, request, { ...timing, signal: options.signal });
      if (answer.status >= 300) throw reader.refused(answer, new URL(url).pathname, options);
      return answer;
    },
    parse: reader.parse,
    badAnswer: reader.badAnswer,
    close: () => http.close(),
  };
}

/** Polls a promise to its end; undefined: the server has dropped it, and takes the request again. */
function createPoll(dialect: Dialect, send: Send, reader: AnswerReader): Connection['result'] {
  return async (id, path, options) => {
    const waits = pollPauses();
    for (let unexplained = 0; ; ) {
      const answer = await send('POST', POLL, JSON.stringify({ request_id: id }), {
        signal: options.signal,
        isRepeatable: true,
        limitMs: POLL_LIMIT_MS,
        ...(options.accept !== undefined && { accept: options.accept }),
      });
      if (answer.status === 410 && dialect.capabilities.deduplicates) return undefined;
      const isUnexplained = answer.status === 400 && explanationOf(textOf(answer)) === undefined;
      const mayPass = isUnexplained && unexplained++ < dialect.unexplainedRefusals;
      if (answer.status !== 408 && !mayPass) {
        if (answer.status >= 300) throw reader.refused(answer, path, options);
        const result = reader.read(answer, path);
        if (result.kind === 'protobuf' || !TryAgain.safeParse(result.value).success)
          return unlessFailed(result, answer, { path, options, reader });
      }
      await pause(waits.next().value, options.signal);
      options.signal.throwIfAborted();
    }
  };
}

/** The hosted services report a failed call with status 200. A fault of theirs may pass. */
function unlessFailed(
  result: RawResult,
  answer: HttpAnswer,
  {
    path,
    options,
    reader,
  }: { readonly path: string; readonly options: Subject; readonly reader: AnswerReader },
): RawResult {
  if (result.kind === 'protobuf') return result;
  const failed = FailedFuture.safeParse(result.value);
  if (!failed.success) return result;
  const { error, category } = failed.data;
  const status = category === 'server' ? 500 : 400;
  throw reader.refused({ ...answer, status, bytes: Buffer.from(error) }, path, options);
}

function createFuture(
  { callLimitMs = CALL_LIMIT_MS }: Pick<ConnectionSettings, 'callLimitMs'>,
  {
    send,
    poll,
    reader,
  }: { readonly send: Send; readonly poll: Connection['result']; readonly reader: AnswerReader },
): Connection['future'] {
  return async (path, body, { limitMs = callLimitMs, ...options }) => {
    const limit = AbortSignal.timeout(limitMs);
    const limited = { ...options, signal: AbortSignal.any([options.signal, limit]) };
    try {
      for (let resends = 0; ; resends++) {
        const answer = await send('POST', path, encoded(body), limited);
        // FastAPI answers a body that it cannot read with 422
        if (body instanceof Uint8Array && (answer.status === 415 || answer.status === 422))
          throw TinkerError.NO_PROTOBUF({ status: answer.status });
        const { request_id: id, model_id: model } = reader.parseAnswer(FutureAnswer, answer, path, options);
        if (model !== undefined) options.onModel?.(model);
        const result = await poll(id, path, limited);
        if (result !== undefined) return result;
        if (resends === MOST_RESENDS)
          throw TinkerError.ANSWER_LOST({ path, detail: `dropped ${resends} times by the server` });
      }
    } catch (error) {
      if (limit.aborted && !options.signal.aborted)
        throw TinkerError.TIMED_OUT({ path, seconds: limitMs / 1000 });
      throw error;
    }
  };
}

/** The version of the official client whose contract this one speaks. */
export const SDK_VERSION = '0.38.0';

const encoded = (body: unknown): string | Uint8Array | undefined =>
  body === undefined || body instanceof Uint8Array ? body : JSON.stringify(body);

function* pollPauses(): Generator<number, never> {
  for (let ms = 20; ; ms = Math.min(2 * ms, LONGEST_POLL_PAUSE_MS)) yield ms;
}
