import type { Logger } from '../../../shared/runtime/logger.ts';
import type { CallOptions, Calls } from '../../../shared/runtime/worker-calls.ts';
import { ServingError } from '../errors.ts';
import { openThread, type Thread } from './thread.ts';

/** A thread that is restarted if a call takes too long or ends it. */
export type WatchedThread<Known extends Calls> = {
  /** Rejects with REQUEST_TOO_COSTLY if the call takes too long or ends the thread; other calls continue. */
  readonly call: <Name extends keyof Known & string>(
    name: Name,
    ask: Known[Name]['ask'],
    options?: Pick<CallOptions, 'signal'>,
  ) => Promise<Known[Name]['result']>;
  /** Why the thread does not respond at the moment; undefined if it does. */
  readonly problem: () => string | undefined;
  /** Rejects if it cannot restart. */
  readonly failed: Promise<never>;
  readonly close: () => Promise<void>;
};

/** An event of a call: the request field that it reads. */
export type ReadingEvent = { readonly param: string };

export type WatchLimits = {
  /** ms that a call may take; `problem` reports a call that takes half of it */
  readonly callMs: number;
  readonly startMs: number;
  readonly heapMib: number;
  /** Request field that a call reads before its first event. */
  readonly param?: string;
  readonly logger?: Pick<Logger, 'error'> | undefined;
};

type Item = {
  readonly name: string;
  readonly ask: unknown;
  readonly resolve: (result: never) => void;
  readonly reject: (error: unknown) => void;
  param: string;
  /** Ticks since the thread began to work on the call. */
  ticks: number;
};

/** Ticks that a call may take. Counting ticks instead of time tolerates a process that was suspended. */
const TICKS = 10;
/** Calls that are sent to the thread at a time: one runs, the next is ready. */
const MOST_POSTED = 2;

/** Starts a thread that answers one call at a time. Each call has a time limit. */
export async function openWatchedThread<Known extends Calls>(
  module: URL,
  setup: unknown,
  limits: WatchLimits,
): Promise<WatchedThread<Known>> {
  const calls = new WatchedCalls(() => openThread<Calls>(module, setup, limits), limits);
  await calls.start();
  return {
    call: (name, ask, { signal } = {}) => calls.call(name, ask, signal),
    problem: () => calls.problem(),
    failed: calls.failed,
    close: () => calls.close(),
  };
}

class WatchedCalls {
  readonly #open: () => Promise<Thread<Calls>>;
  readonly #limits: WatchLimits;
  readonly #failed = Promise.withResolvers<never>();
  #timer: NodeJS.Timeout | undefined;
  /** Undefined while it restarts. */
  #thread: Thread<Calls> | undefined;
  #isClosing = false;
  #waiting: readonly Item[] = [];
  /** Sent to the thread, which works on the first. */
  #posted: readonly Item[] = [];

  constructor(open: () => Promise<Thread<Calls>>, limits: WatchLimits) {
    this.#open = open;
    this.#limits = limits;
    this.#failed.promise.catch(() => {}); // may reject before a listener is added
  }

  get failed(): Promise<never> {
    return this.#failed.promise;
  }

  async start(): Promise<void> {
    this.#use(await this.#open());
    this.#timer = setInterval(() => this.#tick(), Math.ceil(this.#limits.callMs / TICKS));
    this.#timer.unref();
  }

  call(name: string, ask: unknown, signal: AbortSignal | undefined): Promise<never> {
    return new Promise<never>((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      const item: Item = { name, ask, resolve, reject, param: this.#limits.param ?? 'messages', ticks: 0 };
      const onAbort = () => {
        if (!this.#waiting.includes(item)) return; // it is already sent to the thread
        this.#waiting = this.#waiting.filter((other) => other !== item);
        reject(signal?.reason);
      };
      signal?.addEventListener('abort', onAbort, { once: true });
      this.#waiting = [...this.#waiting, item];
      this.#fill();
    });
  }

  problem(): string | undefined {
    if (this.#thread === undefined) return 'the prompt thread is restarting';
    const ticks = this.#posted[0]?.ticks ?? 0;
    return ticks > TICKS / 2 ? 'one prompt keeps all others waiting' : undefined;
  }

  async close(): Promise<void> {
    this.#isClosing = true;
    clearInterval(this.#timer);
    await this.#thread?.close();
  }

  #use(opened: Thread<Calls>): void {
    this.#thread = opened;
    opened.failed.catch((error: Error) => this.#restart(opened, error));
    this.#fill();
  }

  #fill(): void {
    while (this.#thread !== undefined && this.#posted.length < MOST_POSTED && this.#waiting.length > 0) {
      const [next, ...others] = this.#waiting;
      this.#waiting = others;
      this.#posted = [...this.#posted, next!];
      this.#post(this.#thread, next!);
    }
  }

  #post(thread: Thread<Calls>, item: Item): void {
    const settle = (finish: () => void) => {
      if (thread !== this.#thread) return; // the call was refused or is waiting again
      this.#posted = this.#posted.filter((other) => other !== item);
      finish();
      this.#fill();
    };
    const onEvent = (event: unknown) => {
      item.param = (event as ReadingEvent).param;
    };
    thread.call(item.name, item.ask, { onEvent }).then(
      (result) => settle(() => item.resolve(result as never)),
      (error) => settle(() => item.reject(error)),
    );
  }

  /** Rejects the call that the thread worked on; the others wait for the next thread. */
  #restart(thread: Thread<Calls>, cause: Error): void {
    if (thread !== this.#thread || this.#isClosing) return;
    this.#thread = undefined;
    const [culprit, ...others] = this.#posted;
    this.#waiting = [...others, ...this.#waiting];
    this.#posted = [];
    if (culprit === undefined) {
      this.#failed.reject(cause); // no call caused it
      return;
    }
    const { param } = culprit;
    this.#limits.logger?.error(
      { err: cause, param },
      'restarting the prompt thread; its request gets 400 request_too_costly',
    );
    culprit.reject(ServingError.REQUEST_TOO_COSTLY({ param }));
    void thread.close();
    this.#open().then(
      (opened) => (this.#isClosing ? opened.close() : this.#use(opened)),
      this.#failed.reject,
    );
  }

  #tick(): void {
    const [first] = this.#posted;
    if (first === undefined || this.#thread === undefined) return;
    first.ticks += 1;
    if (first.ticks <= TICKS) return;
    this.#restart(this.#thread, new Error(`a prompt took more than ${this.#limits.callMs} ms`));
  }
}
