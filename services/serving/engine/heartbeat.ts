/** Whether a thread still answers. */
export type Heartbeat = {
  /** Why it seems stuck; undefined: it answers. */
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

/** Of the limit. Ticks are counted, not milliseconds: a process that was stopped meanwhile loses one. */
const TICKS = 50;
const TICKS_OF_PROBLEM = 5;

/** Asks a thread again and again for a sign of life. */
export function createHeartbeat({ ask, limitMs }: Options): Heartbeat {
  const failed = Promise.withResolvers<never>();
  failed.promise.catch(() => {}); // before anybody watches
  let isAsked = false;
  let ticks = 0;
  const answered = () => {
    isAsked = false;
    ticks = 0;
  };
  const timer = setInterval(
    () => {
      if (isAsked) ticks += 1;
      else {
        isAsked = true;
        ask().then(answered, () => {}); // who watches the thread hears that it ended
      }
      if (ticks > TICKS) failed.reject(new Error(`the engine's thread has not answered for ${limitMs} ms`));
    },
    Math.ceil(limitMs / TICKS),
  );
  timer.unref();
  return {
    problem: () => (ticks > TICKS_OF_PROBLEM ? "the engine's thread does not answer" : undefined),
    failed: failed.promise,
    stop: () => clearInterval(timer),
  };
}
