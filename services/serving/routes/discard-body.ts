import type { IncomingMessage } from 'node:http';

/**
 * Reads the rest of a body to nowhere: a client that is still writing would see its connection break instead
 * of the answer that says why. Gives up after the limit.
 */
export async function discardBody(request: IncomingMessage, limitMs: number): Promise<void> {
  if (request.readableEnded || request.destroyed) return;
  let timer: NodeJS.Timeout | undefined;
  await new Promise<void>((resolve) => {
    timer = setTimeout(resolve, limitMs);
    request
      .once('end', resolve)
      .once('close', resolve)
      .once('error', () => resolve());
    request.resume();
  }).finally(() => clearTimeout(timer));
}
