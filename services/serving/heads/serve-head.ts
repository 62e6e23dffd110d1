import { randomUUID } from 'node:crypto';
import { PolicyLoaded } from '../../../shared/events/policy-loaded.ts';
import { doubling } from '../../../shared/lang/async.ts';
import { monotonicNow, utcNow } from '../../../shared/runtime/clock.ts';
import type { Logger } from '../../../shared/runtime/logger.ts';
import { createRepeats } from '../../../shared/runtime/repeats.ts';
import type { Engine, PolicyVersion } from '../generation.ts';
import type { ServingMetrics } from '../metrics.ts';
import type { AdapterHead } from './head-view.ts';

export type ServedHead = {
  /** Version for new answers; undefined before the first load. */
  readonly served: () => number | undefined;
  /** Why the head is not served; undefined: it is. */
  readonly problem: () => string | undefined;
};

type Options = {
  readonly view: Pick<AdapterHead, 'onHead'>;
  readonly engine: Pick<Engine, 'serve'>;
  readonly recorder: { readonly record: (event: PolicyLoaded) => Promise<unknown> };
  readonly adapter: string;
  readonly replica: string;
  readonly metrics: Pick<ServingMetrics, 'headVersion' | 'servedVersion' | 'loadFailures'>;
  readonly logger: Logger;
  /** ms until the first retry of a failed load; doubles with each retry, up to 8 times this value. */
  readonly retryMs: number;
};

const LONGEST_RETRY = 8;

/**
 * Keeps the engine on the head of one adapter. Heads that change during a load are skipped: only the newest is loaded
 * next, and a head that is rolled back during its load is not served. If a load fails, the earlier version stays in
 * service, and the load is retried.
 */
export function serveHead({
  view,
  engine,
  recorder,
  adapter,
  replica,
  metrics,
  logger,
  retryMs,
}: Options): ServedHead {
  let wanted: PolicyVersion | undefined;
  let served: number | undefined;
  let problem: string | undefined;
  const freshWaits = () => doubling(retryMs, LONGEST_RETRY * retryMs);
  let waits = freshWaits();
  const repeats = createRepeats(monotonicNow);
  let wake = () => {};
  let loading: { readonly version: number; readonly stop: AbortController } | undefined;
  metrics.loadFailures.inc({ adapter }, 0);
  metrics.servedVersion.set({ adapter }, -1);
  const load = async (policy: PolicyVersion): Promise<void> => {
    const began = monotonicNow();
    const stop = new AbortController();
    loading = { version: policy.version, stop };
    try {
      await engine.serve(adapter, policy, stop.signal);
    } catch (error) {
      if (stop.signal.aborted) return;
      metrics.loadFailures.inc({ adapter });
      problem = `cannot load version ${policy.version}: ${(error as Error).message}`;
      // a permanent cause, such as another model, would fill the log
      if (repeats(problem) !== undefined)
        logger.error(
          { err: error, adapter, version: policy.version, served },
          'could not load the head; will retry',
        );
      await new Promise<void>((resolve) => {
        wake = resolve;
        setTimeout(resolve, waits.next().value).unref();
      });
      return;
    }
    const milliseconds = monotonicNow() - began;
    served = policy.version;
    problem = undefined;
    waits = freshWaits();
    metrics.servedVersion.set({ adapter }, policy.version);
    logger.info({ adapter, version: policy.version, milliseconds }, 'serving a new version');
    const id = `${replica}/${adapter}/loaded/${policy.version}/${randomUUID()}`;
    const data = { adapter, version: policy.version, replica, milliseconds };
    await recorder.record(PolicyLoaded.create({ id, source: 'clawloop/serving', time: utcNow(), data }));
  };
  const catchUp = async (): Promise<void> => {
    if (loading !== undefined) return;
    while (wanted !== undefined && wanted.version !== served) await load(wanted);
    loading = undefined;
  };
  view.onHead((head) => {
    wanted = head;
    waits = freshWaits();
    wake();
    metrics.headVersion.set({ adapter }, head.version);
    if (loading !== undefined && head.version < loading.version) loading.stop.abort();
    void catchUp();
  });
  return { served: () => served, problem: () => problem };
}
