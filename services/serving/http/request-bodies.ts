import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Readable } from 'node:stream';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { ServingConfig } from '../../../shared/config/serving.ts';
import { ServingError } from '../errors.ts';
import { createBodyParser } from './body-parser.ts';
import { createBytesUnderWay } from './bytes-under-way.ts';

type Limits = Pick<ServingConfig, 'maxBodyBytes' | 'maxBodyBytesPerKey' | 'requestTimeoutMs'>;

type Options = {
  readonly limits: Limits;
  readonly needsKey: () => Promise<boolean>;
  readonly keyOf: (request: FastifyRequest) => string;
};

/** Decorator: the raw response of a request. */
const RESPONSE = Symbol('response');

/** Body settings of a route, in its `config`. */
export type BodyConfig = {
  readonly mayBeEmpty?: boolean;
  /** A more specific error for an invalid body, from the start of the body; undefined: there is none. */
  readonly explainInvalid?: (beginning: string) => Error | undefined;
};

const EXPLAINED_BYTES = 4_096;
const isBlank = (body: Buffer): boolean => body.length < EXPLAINED_BYTES && body.toString().trim() === '';

const MIB = 1024 * 1024;
/** Defaults. */
const MOST_BYTES = { withKey: 16 * MIB, withoutKey: 8 * MIB };

/** Maximum bytes of one body. */
export const mostBodyBytes = ({ maxBodyBytes }: Pick<Limits, 'maxBodyBytes'>, needsKey: boolean): number =>
  maxBodyBytes ?? (needsKey ? MOST_BYTES.withKey : MOST_BYTES.withoutKey);

/**
 * Reads the JSON bodies of a server. The bytes of a request count against its key until the response has ended,
 * because the request stays in memory until then.
 */
export function readJsonBodies(server: FastifyInstance, { limits, needsKey, keyOf }: Options): void {
  const { maxBodyBytesPerKey, requestTimeoutMs } = limits;
  const underWay = createBytesUnderWay(maxBodyBytesPerKey);
  const parser = createBodyParser();
  server.addHook('onClose', parser.close);
  // A WeakMap would retain all requests with their bodies until the next full garbage collection.
  server.decorateRequest(RESPONSE, null);
  server.addHook('preParsing', async (request, { raw }) => {
    request.setDecorator(RESPONSE, raw);
  });
  const reserverOf = (request: FastifyRequest) => {
    const keyId = keyOf(request);
    const raw = request.getDecorator<ServerResponse>(RESPONSE);
    let reservedBytes = 0;
    // One listener for all chunks, because removing many listeners is slow.
    raw.once('close', () => underWay.remove(keyId, reservedBytes));
    return (bytes: number): boolean => {
      if (!underWay.add(keyId, bytes)) return false;
      if (raw.destroyed) underWay.remove(keyId, bytes);
      else reservedBytes += bytes;
      return true;
    };
  };
  server.addContentTypeParser(
    'application/json',
    async (request: FastifyRequest, payload: IncomingMessage) => {
      const length = request.headers['content-length'];
      const body = await readBytes(payload, {
        mostBytes: mostBodyBytes(limits, await needsKey()),
        announced: length === undefined ? undefined : Number(length),
        reserve: reserverOf(request),
        tooMany: () => ServingError.TOO_MANY_BYTES({ limit: maxBodyBytesPerKey, retryAfterSeconds: 1 }),
        timeoutMs: requestTimeoutMs,
      });
      const { mayBeEmpty = false, explainInvalid } = request.routeOptions.config as BodyConfig;
      // some clients set the JSON content type and send no body
      if ((mayBeEmpty || request.method === 'DELETE') && isBlank(body)) return undefined;
      if (explainInvalid === undefined) return parser.parse(body);
      return parser.parse(body).catch((error: unknown) => {
        throw explainInvalid(body.toString('utf8', 0, EXPLAINED_BYTES)) ?? error;
      });
    },
  );
}

type ReadLimits = {
  readonly mostBytes: number;
  /** Content-Length; undefined: the client sent none. */
  readonly announced: number | undefined;
  /** Reserves memory for more bytes; false if the limit is reached. */
  readonly reserve: (bytes: number) => boolean;
  readonly tooMany: () => Error;
  /** ms to receive the body */
  readonly timeoutMs: number;
};

const FIRST_BYTES = 64 * 1024;
/** An announced body up to this size gets its whole buffer at once, so that it is not copied as it grows. */
const ANNOUNCED_BYTES = 1024 * 1024;

/** Reads the bytes of a body. The rest of a refused body stays unread. @throws ServingError */
async function readBytes(
  body: Readable,
  { mostBytes, announced, reserve, tooMany, timeoutMs }: ReadLimits,
): Promise<Buffer> {
  const tooLarge = () => ServingError.BODY_TOO_LARGE({ limit: mostBytes });
  if (announced !== undefined) {
    if (announced > mostBytes) throw tooLarge();
    if (!reserve(announced)) throw tooMany();
  }
  // One buffer that doubles, so that many small chunks need no more memory than a large one.
  let read = Buffer.allocUnsafe(announced === undefined ? FIRST_BYTES : Math.min(announced, ANNOUNCED_BYTES));
  let length = 0;
  const keep = (chunk: Buffer) => {
    const offset = length - chunk.length;
    if (length > read.length) {
      const larger = Buffer.allocUnsafe(Math.max(length, 2 * read.length));
      read.copy(larger, 0, 0, offset);
      read = larger;
    }
    chunk.copy(read, offset);
  };
  return await new Promise<Buffer>((resolve, reject) => {
    const stop = (settle: () => void) => {
      clearTimeout(timer);
      body.off('data', onData).off('end', onEnd).off('close', onBroken).off('error', onBroken);
      settle();
    };
    const onData = (chunk: Buffer) => {
      length += chunk.length;
      if (length > mostBytes) stop(() => reject(tooLarge()));
      else if (announced === undefined && !reserve(chunk.length)) stop(() => reject(tooMany()));
      else keep(chunk);
    };
    const onEnd = () => stop(() => resolve(read.subarray(0, length)));
    const onLate = () => stop(() => reject(ServingError.REQUEST_TIMEOUT({ seconds: timeoutMs / 1_000 })));
    const timer = setTimeout(onLate, timeoutMs);
    const onBroken = () => stop(() => reject(ServingError.CLIENT_LEFT()));
    body.on('data', onData).once('end', onEnd).once('close', onBroken).once('error', onBroken);
  });
}
