import type { Logger } from '../../../shared/service/logger.ts';
import { ServingError } from '../errors.ts';
import { type CallOptions, type Calls, openThread, type Thread } from './thread.ts';

/** A thread that is started again when one call takes too long or ends it. */
export type WatchedThread<Known extends Calls> = {
  /** Rejects with REQUEST_TOO_COSTLY where the call took too long or ended the thread; other calls go on. */
  readonly call: <Name extends keyof Known & string>(
    name: Name,
    ask: Known[Name]['ask'],
    options?: Pick<CallOptions, 'signal'>,
  ) => Promise<Known[Name]['result']>;
  /** Why it answers nobody just now; undefined: it does. */
  readonly problem: () => string | undefined;
  /** Rejects when it cannot be started again. */
  readonly failed: Promise<never>;
  readonly close: () => Promise<void>;
};

/** What such a thread says of a call: which field of the request it reads now. */
export type ReadingEvent = { readonly param: string };

export type WatchLimits = {
  /** ms that one call may take; half of it without an answer is a problem */
  readonly callMs: number;
  readonly startMs: number;
  readonly heapMib: number;
  /** Field of the request that a call is about unless it says otherwise. */
  readonly param?: string;
  readonly logger?: Pick<Logger, 'error'> | undefined;
};

type Item = {
  readonly name: string;
  readonly ask: unknown;
  readonly resolve: (result: never) => void;
  readonly reject: (error: unknown) => void;
  param: string;
  /** Ticks that it has been worked on. */
  ticks: number;
};

/** Of the time of a call. Ticks are counted, not milliseconds: a process that was stopped meanwhile loses one. */
const TICKS = 10;
/** Calls that the thread has at once: while the first one runs, the next lies ready. */
const MOST_POSTED = 2;

/** Starts a thread that answers calls one after the other, and watches each. */
export async function openWatchedThread<Known extends Calls>(
  module: URL,
  setup: unknown,
  limits: WatchLimits,
): Promise<WatchedThread<Known>> {
  const open = () => openThread<Calls>(module, setup, limits);
  const failed = Promise.withResolvers<never>();
  failed.promise.catch(() => {}); // before anybody watches
  let thread: Thread<Calls> | undefined;
  let closing = false;
  let waiting: readonly Item[] = [];
  /** The first one is what the thread works on. */
  let posted: readonly Item[] = [];

  const post = (own: Thread<Calls>, item: Item): void => {
    const settle = (tell: () => void) => {
      if (own !== thread) return; // it is refused, or asked again
      posted = posted.filter((one) => one !== item);
      tell();
      fill();
    };
    const onEvent = (event: unknown) => {
      item.param = (event as ReadingEvent).param;
    };
    own.call(item.name, item.ask, { onEvent }).then(
      (result) => settle(() => item.resolve(result as never)),
      (error) => settle(() => item.reject(error)),
    );
  };
  const fill = (): void => {
    while (thread !== undefined && posted.length < MOST_POSTED && waiting.length > 0) {
      const [next, ...others] = waiting;
      waiting = others;
      posted = [...posted, next!];
      post(thread, next!);
    }
  };
  const watch = (opened: Thread<Calls>): void => {
    thread = opened;
    opened.failed.catch((error: Error) => startAgain(opened, error));
    fill();
  };
  const startAgain = (own: Thread<Calls>, cause: Error): void => {
    if (own !== thread || closing) return;
    thread = undefined;
    const [culprit, ...others] = posted;
    waiting = [...others, ...waiting];
    posted = [];
    if (culprit === undefined) {
      failed.reject(cause); // no request did it
      return;
    }
    const { param } = culprit;
    limits.logger?.error({ err: cause, param }, 'the thread that makes prompts is started again');
    culprit.reject(ServingError.REQUEST_TOO_COSTLY({ param }));
    void own.close();
    open().then((opened) => (closing ? opened.close() : watch(opened)), failed.reject);
  };
  const tick = (): void => {
    const [first] = posted;
    if (first === undefined || thread === undefined) return;
    first.ticks += 1;
    if (first.ticks > TICKS) startAgain(thread, new Error(`a call took more than ${limits.callMs} ms`));
  };
  watch(await open());
  const timer = setInterval(tick, Math.ceil(limits.callMs / TICKS));
  timer.unref();

  return {
    call: (name, ask, { signal } = {}) =>
      new Promise<never>((resolve, reject) => {
        if (signal?.aborted) return reject(signal.reason);
        const item: Item = { name, ask, resolve, reject, param: limits.param ?? 'messages', ticks: 0 };
        const onAbort = () => {
          if (!waiting.includes(item)) return; // the thread has it
          waiting = waiting.filter((one) => one !== item);
          reject(signal?.reason);
        };
        signal?.addEventListener('abort', onAbort, { once: true });
        waiting = [...waiting, item];
        fill();
      }),
    problem: () => {
      if (thread === undefined) return 'the thread that makes prompts is being started again';
      const ticks = posted[0]?.ticks ?? 0;
      return ticks > TICKS / 2 ? 'one prompt keeps all others waiting' : undefined;
    },
    failed: failed.promise,
    close: async () => {
      closing = true;
      clearInterval(timer);
      await thread?.close();
    },
  };
}
