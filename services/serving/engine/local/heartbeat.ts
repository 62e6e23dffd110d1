/** Watches whether a thread responds. */
type Heartbeat = {
  /** Why the thread seems stuck; undefined if it responds. */
  readonly problem: () => string | undefined;
  /** Rejects when the thread has not answered within the limit. */
  readonly failed: Promise<never>;
  readonly stop: () => void;
};

type Options = {
  readonly ask: () => Promise<unknown>;
  /** ms without an answer; a tenth of it is a problem */
  readonly limitMs: number;
};

/** Ticks per limit. Counting ticks instead of time tolerates a process that was suspended. */
const TICKS = 50;
const TICKS_OF_PROBLEM = 5;

/** Calls a thread at regular intervals. */
export function createHeartbeat({ ask, limitMs }: Options): Heartbeat {
  const failed = Promise.withResolvers<never>();
  failed.promise.catch(() => {}); // may reject before a listener is added
  let isWaiting = false;
  let ticks = 0;
  const answered = () => {
    isWaiting = false;
    ticks = 0;
  };
  const timer = setInterval(
    () => {
      if (isWaiting) ticks += 1;
      else {
        isWaiting = true;
        ask().then(answered, () => {}); // the owner of the thread handles its end
      }
      if (ticks > TICKS) failed.reject(new Error(`the engine thread has not responded for ${limitMs} ms`));
    },
    Math.ceil(limitMs / TICKS),
  );
  timer.unref();
  return {
    problem: () => (ticks > TICKS_OF_PROBLEM ? 'the engine thread does not respond' : undefined),
    failed: failed.promise,
    stop: () => clearInterval(timer),
  };
}
