import type { IncomingMessage, ServerResponse } from 'node:http';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { ServingConfig } from '../config.ts';
import { ServingError } from '../errors.ts';
import { createBodyParser } from './body-parser.ts';
import { createBytesUnderWay } from './bytes-under-way.ts';
import { readBytes } from './read-bytes.ts';

type Limits = Pick<ServingConfig, 'maxBodyBytes' | 'maxBodyBytesPerKey' | 'requestTimeoutMs'>;

type Options = {
  readonly limits: Limits;
  readonly needsKey: () => Promise<boolean>;
  readonly keyOf: (request: FastifyRequest) => string;
};

/** What a request is answered by. */
const RESPONSE = Symbol('response');

/** What a route says of its bodies, in its `config`. */
export type BodyConfig = {
  readonly mayBeEmpty?: boolean;
  /** A better reason why a body cannot be read, from its beginning; undefined: there is none. */
  readonly explainInvalid?: (beginning: string) => Error | undefined;
};

const EXPLAINED_BYTES = 4_096;
const isBlank = (body: Buffer): boolean => body.length < EXPLAINED_BYTES && body.toString().trim() === '';

const MIB = 1024 * 1024;
/** Unless the settings say otherwise. */
const MOST_BYTES = { withKey: 16 * MIB, withoutKey: 8 * MIB };

/** Bytes that one body may have. */
export const mostBodyBytes = ({ maxBodyBytes }: Pick<Limits, 'maxBodyBytes'>, needsKey: boolean): number =>
  maxBodyBytes ?? (needsKey ? MOST_BYTES.withKey : MOST_BYTES.withoutKey);

/**
 * Reads the JSON bodies of a server. What a key has under way counts from the first byte of a body until its response
 * has ended: for as long the request is held in memory.
 */
export function readJsonBodies(server: FastifyInstance, { limits, needsKey, keyOf }: Options): void {
  const { maxBodyBytesPerKey, requestTimeoutMs } = limits;
  const underWay = createBytesUnderWay(maxBodyBytesPerKey);
  const parser = createBodyParser();
  server.addHook('onClose', parser.close);
  // A WeakMap of replies would keep all requests with their bodies until the next full garbage collection.
  server.decorateRequest(RESPONSE, null);
  server.addHook('preParsing', async (request, { raw }) => {
    request.setDecorator(RESPONSE, raw);
  });
  const holdFor = (request: FastifyRequest) => {
    const keyId = keyOf(request);
    const raw = request.getDecorator<ServerResponse>(RESPONSE);
    let held = 0;
    // One listener for all chunks: each would have to be found again among the others at the end.
    raw.once('close', () => underWay.remove(keyId, held));
    return (bytes: number): boolean => {
      if (!underWay.add(keyId, bytes)) return false;
      if (raw.destroyed) underWay.remove(keyId, bytes);
      else held += bytes;
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
        hold: holdFor(request),
        tooMany: () => ServingError.TOO_MANY_BYTES({ limit: maxBodyBytesPerKey, retryAfterSeconds: 1 }),
        timeoutMs: requestTimeoutMs,
      });
      const { mayBeEmpty = false, explainInvalid } = request.routeOptions.config as BodyConfig;
      // some clients announce JSON and send nothing
      if ((mayBeEmpty || request.method === 'DELETE') && isBlank(body)) return undefined;
      if (explainInvalid === undefined) return parser.parse(body);
      return parser.parse(body).catch((error: unknown) => {
        throw explainInvalid(body.toString('utf8', 0, EXPLAINED_BYTES)) ?? error;
      });
    },
  );
}
