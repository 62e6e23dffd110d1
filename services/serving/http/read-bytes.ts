import type { Readable } from 'node:stream';
import { ServingError } from '../errors.ts';

type Limits = {
  readonly mostBytes: number;
  /** As the client announced; undefined: it did not. */
  readonly announced: number | undefined;
  /** Whether so many more bytes may be held. */
  readonly hold: (bytes: number) => boolean;
  readonly tooMany: () => Error;
  /** ms that the client may take to send it */
  readonly timeoutMs: number;
};

/** The bytes of a body. What is left of one that is refused stays unread. @throws ServingError */
export async function readBytes(
  body: Readable,
  { mostBytes, announced, hold, tooMany, timeoutMs }: Limits,
): Promise<Buffer> {
  const tooLarge = () => ServingError.BODY_TOO_LARGE({ limit: mostBytes });
  if (announced !== undefined) {
    if (announced > mostBytes) throw tooLarge();
    if (!hold(announced)) throw tooMany();
  }
  const chunks: Buffer[] = [];
  let length = 0;
  return await new Promise<Buffer>((resolve, reject) => {
    const stop = (settle: () => void) => {
      clearTimeout(timer);
      body.off('data', onData).off('end', onEnd).off('close', onBroken).off('error', onBroken);
      settle();
    };
    const onData = (chunk: Buffer) => {
      length += chunk.length;
      if (length > mostBytes) stop(() => reject(tooLarge()));
      else if (announced === undefined && !hold(chunk.length)) stop(() => reject(tooMany()));
      else chunks.push(chunk);
    };
    const onEnd = () => stop(() => resolve(Buffer.concat(chunks, length)));
    const onLate = () => stop(() => reject(ServingError.REQUEST_TIMEOUT({ seconds: timeoutMs / 1_000 })));
    const timer = setTimeout(onLate, timeoutMs);
    const onBroken = () => stop(() => reject(ServingError.CLIENT_LEFT()));
    body.on('data', onData).once('end', onEnd).once('close', onBroken).once('error', onBroken);
  });
}
