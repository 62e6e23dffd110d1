import { openWatchedThread, type WatchedThread } from '../engine/watched-thread.ts';
import { parseJsonBody, type ReadBody, rememberBodyBytes } from './json-body.ts';

export type BodyCalls = { readonly read: { readonly ask: Uint8Array; readonly result: ReadBody } };

/** Bytes; larger bodies are parsed in another thread. */
const LARGE = 1024 * 1024;
const LIMITS = { callMs: 10_000, startMs: 60_000, heapMib: 1_024, param: 'body' };

type BodyParser = {
  /** @throws ServingError INVALID_JSON, INVALID_REQUEST, REQUEST_TOO_COSTLY */
  readonly parse: (body: Buffer) => Promise<unknown>;
  readonly close: () => Promise<void>;
};

/** Parses bodies; large ones in a thread, which starts with the first large body. */
export function createBodyParser(): BodyParser {
  let thread: Promise<WatchedThread<BodyCalls>> | undefined;
  const opened = (): Promise<WatchedThread<BodyCalls>> => {
    if (thread !== undefined) return thread;
    const module = new URL('./body-thread.ts', import.meta.url);
    const opening = openWatchedThread<BodyCalls>(module, undefined, LIMITS);
    thread = opening;
    const forget = () => {
      if (thread === opening) thread = undefined; // the next large body starts a new thread
    };
    opening.then((ready) => ready.failed.catch(forget), forget);
    return opening;
  };
  return {
    parse: async (body) => {
      if (body.length <= LARGE) return parseJsonBody(body);
      return rememberBodyBytes(await (await opened()).call('read', body), body);
    },
    close: async () => {
      await (await thread?.catch(() => undefined))?.close();
    },
  };
}
