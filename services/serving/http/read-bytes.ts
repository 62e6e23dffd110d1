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

const FIRST_BYTES = 64 * 1024;
/** An announced body up to this size gets its whole buffer at once: it counts as held, and is not copied while it grows. */
const ANNOUNCED_BYTES = 1024 * 1024;

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
  // One buffer that doubles: a body of many small chunks costs no more than its bytes.
  let read = Buffer.allocUnsafe(announced === undefined ? FIRST_BYTES : Math.min(announced, ANNOUNCED_BYTES));
  let length = 0;
  const keep = (chunk: Buffer) => {
    const before = length - chunk.length;
    if (length > read.length) {
      const larger = Buffer.allocUnsafe(Math.max(length, 2 * read.length));
      read.copy(larger, 0, 0, before);
      read = larger;
    }
    chunk.copy(read, before);
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
      else if (announced === undefined && !hold(chunk.length)) stop(() => reject(tooMany()));
      else keep(chunk);
    };
    const onEnd = () => stop(() => resolve(read.subarray(0, length)));
    const onLate = () => stop(() => reject(ServingError.REQUEST_TIMEOUT({ seconds: timeoutMs / 1_000 })));
    const timer = setTimeout(onLate, timeoutMs);
    const onBroken = () => stop(() => reject(ServingError.CLIENT_LEFT()));
    body.on('data', onData).once('end', onEnd).once('close', onBroken).once('error', onBroken);
  });
}
