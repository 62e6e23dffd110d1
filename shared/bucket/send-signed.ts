import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { AwsV4Signer } from 'aws4fetch';
import { Agent, type Dispatcher, request } from 'undici';
import type { BucketPlace } from '../config/checkpoints.ts';
import type { ObjectContent } from '../policy/checkpoints/bucket.ts';
import { storeUnavailable } from '../policy/checkpoints/store-unavailable.ts';

type Method = 'GET' | 'HEAD' | 'PUT' | 'DELETE';

type SignedRequest = {
  readonly method: Method;
  /** after the bucket's URL */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly content?: ObjectContent;
  /** answers with these statuses are results and no failures */
  readonly expected: readonly number[];
};

export type Answer = {
  readonly status: number;
  readonly headers: Dispatcher.ResponseData['headers'];
  readonly body: Dispatcher.ResponseData['body'];
};

/** ms to establish a connection */
const CONNECT_LIMIT_MS = 5_000;
/** ms without a byte after which a request fails */
const SILENCE_LIMIT_MS = 60_000;
/** ms before the second and the third try */
const PAUSES_MS = [200, 1_000];

const EMPTY = createHash('sha256').digest('hex');

export type SignedSender = {
  /** Sends a request; repeats it if the server cannot answer now. @throws StoreUnavailable */
  readonly send: (request: SignedRequest) => Promise<Answer>;
  readonly close: () => Promise<void>;
};

export function openSignedSender(place: BucketPlace): SignedSender {
  const agent = new Agent({
    connect: { timeout: CONNECT_LIMIT_MS },
    headersTimeout: SILENCE_LIMIT_MS,
    bodyTimeout: SILENCE_LIMIT_MS,
  });
  return {
    send: async (asked) => {
      for (let tries = 0; ; tries++) {
        const answer = await sendOnce(place, agent, asked);
        if (!('failure' in answer)) return answer;
        const pause = PAUSES_MS[tries];
        if (pause === undefined || !answer.mayPass)
          throw storeUnavailable(`${place.name}: ${answer.failure}`, answer.cause);
        await delay(pause);
      }
    },
    close: () => agent.destroy(),
  };
}

type Failure = { readonly failure: string; readonly mayPass: boolean; readonly cause?: unknown };

async function sendOnce(
  place: BucketPlace,
  agent: Agent,
  { method, path, headers = {}, content, expected }: SignedRequest,
): Promise<Answer | Failure> {
  const { accessKeyId, secretAccessKey, sessionToken, region } = place;
  const signed = await new AwsV4Signer({
    method,
    url: place.url + path,
    headers: { ...headers, 'x-amz-content-sha256': content?.sha256 ?? EMPTY },
    accessKeyId,
    secretAccessKey,
    ...(sessionToken === undefined ? {} : { sessionToken }),
    region,
    service: 's3',
  }).sign();
  const { host: _, ...sent } = Object.fromEntries(signed.headers);
  try {
    const { statusCode, ...answer } = await request(signed.url, {
      method,
      headers: content === undefined ? sent : { ...sent, 'content-length': String(content.bytes) },
      body: content === undefined ? null : Readable.from(content.open(), { objectMode: false }),
      dispatcher: agent,
    });
    if (expected.includes(statusCode)) return { status: statusCode, ...answer };
    return {
      failure: `${method} got status ${statusCode}${reasonIn(await text(answer.body))}`,
      mayPass: statusCode >= 500 || statusCode === 429,
    };
  } catch (error) {
    const { code, message, syscall } = error as NodeJS.ErrnoException;
    if (syscall === 'open') throw error; // the file that is sent is gone
    return { failure: `${method} got no answer: ${message || code}`, mayPass: true, cause: error };
  }
}

/** The code and the message of an error document, which name neither keys nor secrets. */
function reasonIn(document: string): string {
  const [code, message] = ['Code', 'Message'].map(
    (field) => new RegExp(`<${field}>([^<]*)</${field}>`).exec(document)?.[1],
  );
  return code === undefined ? '' : ` (${code}${message ? `: ${message}` : ''})`;
}
