import type { z } from 'zod';
import { pause } from '../lang/async.ts';
import { parseJson } from '../lang/json.ts';
import { ConfigAnswer, explanationOf, FailedFuture, FutureAnswer, TokenAnswer, TryAgain } from './answers.ts';
import { createCredentials } from './credentials.ts';
import type { Dialect } from './dialects.ts';
import { refusalOf, TinkerError } from './errors.ts';
import { defaultWaitsMs, download, exchange, textOf } from './exchange.ts';
import { type HttpAnswer, openHttp, originOf } from './http.ts';
import type { Meter } from './meter.ts';

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

/** What a call is about, for its errors. */
type Subject = { readonly model?: string; readonly sequence?: number };

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

/** A poll may also return protobuf. */
export type RawResult =
  | { readonly kind: 'json'; readonly value: unknown }
  | { readonly kind: 'protobuf'; readonly bytes: Uint8Array };

export type Connection = {
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
  /** Reads a result in JSON. @throws BAD_ANSWER */
  readonly parse: <Schema extends z.ZodType>(
    schema: Schema,
    result: RawResult,
    path: string,
  ) => z.output<Schema>;
  readonly badAnswer: (path: string, detail: string) => Error;
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

export function openConnection(settings: ConnectionSettings): Connection {
  const { dialect, meter, apiKey } = settings;
  const { deduplicates } = dialect.capabilities;
  const base = `${settings.url.replace(/\/+$/, '')}/api/v1/`;
  const http = openHttp();
  const waitsMs = settings.waitsMs ?? defaultWaitsMs;

  const send = async (
    method: 'GET' | 'POST' | 'DELETE',
    path: string,
    body: string | Uint8Array | undefined,
    options: CallOptions,
    key?: string,
  ): Promise<HttpAnswer> => {
    const { signal, isRepeatable = false, contentType, accept, limitMs = REQUEST_LIMIT_MS } = options;
    const credential = key ?? (await credentials.current(signal));
    meter.countRequest();
    const headers = {
      ...(options.isControl ? { authorization: `Bearer ${credential}` } : { 'x-api-key': credential }),
      accept: accept ?? 'application/json',
      ...(body !== undefined && { 'content-type': contentType ?? 'application/json' }),
    };
    const url = options.isControl ? path : base + path;
    const request = { method, url, headers, ...(body !== undefined && { body }) };
    return exchange(http, request, {
      mayRepeat: isRepeatable || deduplicates,
      waitsMs,
      limitMs,
      signal,
      isPoll: path === POLL,
    });
  };

  const credentials = createCredentials(apiKey, async (key, signal) => {
    if (!dialect.hosted) return undefined;
    const options = { signal, isRepeatable: true };
    const ask = (path: string, body: object) => send('POST', path, JSON.stringify(body), options, key);
    const config = await ask('client/config', { sdk_version: SDK_VERSION });
    if (config.status === 404) return undefined;
    if (!parsed(ConfigAnswer, config, 'client/config', {}).pjwt_auth_enabled) return undefined;
    return parsed(TokenAnswer, await ask('auth/token', {}), 'auth/token', {}).jwt;
  });

  const refused = (answer: HttpAnswer, path: string, { model = '?', sequence = 0 }: Subject) =>
    refusalOf({
      status: answer.status,
      detail: explanationOf(textOf(answer)) ?? `status ${answer.status}`,
      path,
      url: originOf(base),
      project: settings.project ?? '(none)',
      model,
      sequence,
    });

  const read = (answer: HttpAnswer, path: string): RawResult => {
    if (answer.contentType.startsWith(PROTOBUF)) return { kind: 'protobuf', bytes: answer.bytes };
    const value = parseJson(textOf(answer));
    if (value === undefined) throw badAnswer(path, `no JSON: ${textOf(answer).slice(0, 100)}`);
    return { kind: 'json', value };
  };
  const badAnswer = (path: string, detail: string) =>
    TinkerError.BAD_ANSWER({ url: originOf(base), path, detail });

  const parsed = <Schema extends z.ZodType>(
    schema: Schema,
    answer: HttpAnswer,
    path: string,
    subject: Subject & Pick<CallOptions, 'isEmpty'>,
  ): z.output<Schema> => {
    if (answer.status >= 300) throw refused(answer, path, subject);
    if (subject.isEmpty === true && answer.bytes.length === 0) return schema.parse({});
    return parse(schema, read(answer, path), path);
  };
  const parse: Connection['parse'] = (schema, result, path) => {
    const checked = schema.safeParse(result.kind === 'json' ? result.value : undefined);
    if (checked.success) return checked.data;
    const [{ message, path: place }] = checked.error.issues as [z.core.$ZodIssue];
    throw badAnswer(path, `${place.map(String).join('.')}: ${message}`);
  };

  /** undefined: the server has dropped the promise, and takes the request again */
  const poll = async (id: string, path: string, options: CallOptions): Promise<RawResult | undefined> => {
    const waits = pollPauses();
    for (let unexplained = 0; ; ) {
      const answer = await send('POST', POLL, JSON.stringify({ request_id: id }), {
        signal: options.signal,
        isRepeatable: true,
        limitMs: POLL_LIMIT_MS,
        ...(options.accept !== undefined && { accept: options.accept }),
      });
      if (answer.status === 408) {
        await pause(waits.next().value, options.signal);
        options.signal.throwIfAborted();
        continue;
      }
      if (answer.status === 410 && deduplicates) return undefined;
      const isUnexplained = answer.status === 400 && explanationOf(textOf(answer)) === undefined;
      if (isUnexplained && unexplained++ < dialect.unexplainedRefusals) {
        await pause(waits.next().value, options.signal);
        continue;
      }
      if (answer.status >= 300) throw refused(answer, path, options);
      const result = read(answer, path);
      if (result.kind === 'protobuf') return result;
      if (!TryAgain.safeParse(result.value).success) {
        const failed = FailedFuture.safeParse(result.value);
        if (!failed.success) return result;
        const { error: detail } = failed.data;
        throw refused({ ...answer, status: 400, bytes: Buffer.from(detail) }, path, options);
      }
      await pause(waits.next().value, options.signal);
      options.signal.throwIfAborted();
    }
  };

  return {
    settings,
    call: async (method, path, schema, body, options) =>
      parsed(schema, await send(method, path, encoded(body), options), path, options),
    future: async (path, body, { limitMs = settings.callLimitMs ?? CALL_LIMIT_MS, ...options }) => {
      const limit = AbortSignal.timeout(limitMs);
      const signal = AbortSignal.any([options.signal, limit]);
      try {
        for (let resends = 0; ; resends++) {
          const answer = await send('POST', path, encoded(body), { ...options, signal });
          // FastAPI answers a body that it cannot read with 422
          if (body instanceof Uint8Array && (answer.status === 415 || answer.status === 422))
            throw TinkerError.NO_PROTOBUF({ status: answer.status });
          const { request_id: id, model_id: model } = parsed(FutureAnswer, answer, path, options);
          if (model !== undefined) options.onModel?.(model);
          const result = await poll(id, path, { ...options, signal });
          if (result !== undefined) return result;
          if (resends === MOST_RESENDS)
            throw TinkerError.ANSWER_LOST({ path, detail: `dropped ${resends} times by the server` });
        }
      } catch (error) {
        if (limit.aborted && !options.signal.aborted)
          throw TinkerError.TIMED_OUT({ path, seconds: limitMs / 1000 });
        throw error;
      }
    },
    result: poll,
    file: async (place, limit, options) => {
      const isOurs = !/^https?:/.test(place);
      const url = isOurs ? base + place : place;
      const headers = isOurs ? { 'x-api-key': await credentials.current(options.signal) } : {};
      const timing = { mayRepeat: true, waitsMs, limitMs: FILE_LIMIT_MS, signal: options.signal };
      meter.countRequest();
      const answer = await download(http, { method: 'GET', url, headers, limit }, timing);
      if (answer.status >= 300) throw refused(answer, new URL(url).pathname, options);
      return answer;
    },
    parse,
    badAnswer,
    close: () => http.close(),
  };
}

export const PROTOBUF = 'application/x-protobuf';
/** The version of the official client whose contract this one speaks. */
export const SDK_VERSION = '0.38.0';

const encoded = (body: unknown): string | Uint8Array | undefined =>
  body === undefined || body instanceof Uint8Array ? body : JSON.stringify(body);

function* pollPauses(): Generator<number, never> {
  for (let ms = 20; ; ms = Math.min(2 * ms, LONGEST_POLL_PAUSE_MS)) yield ms;
}
