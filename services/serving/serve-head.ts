import { randomUUID } from 'node:crypto';
import { PolicyLoaded } from '../../shared/events/policy-loaded.ts';
import { monotonicNow, utcNow } from '../../shared/service/clock.ts';
import type { Logger } from '../../shared/service/logger.ts';
import type { Engine, PolicyVersion } from './engine/engine.ts';
import type { AdapterHead } from './head-view.ts';
import type { ServingMetrics } from './metrics.ts';
import type { Recorder } from './record/recorder.ts';

export type ServedHead = {
  /** Version that new answers begin on; undefined before the first load. */
  readonly served: () => number | undefined;
  /** Why the head is not served, if it is not. */
  readonly problem: () => string | undefined;
};

type Options = {
  readonly view: Pick<AdapterHead, 'onHead'>;
  readonly engine: Pick<Engine, 'serve'>;
  readonly recorder: Pick<Recorder, 'record'>;
  readonly adapter: string;
  readonly replica: string;
  readonly metrics: Pick<ServingMetrics, 'headVersion' | 'servedVersion' | 'loadFailures'>;
  readonly logger: Logger;
  /** ms until a head that could not be loaded is tried again; twice as long each time, up to 8 times. */
  readonly retryMs: number;
};

const LONGEST_RETRY = 8;

/**
 * Keeps the engine on the head of one adapter. While a load runs, heads that come and go are passed over:
 * only the newest is loaded next; one that is rolled back meanwhile is not served at all. A head that cannot
 * be loaded leaves the one before in service and is tried again.
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
  let wait = retryMs;
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
      problem = `version ${policy.version} cannot be loaded: ${(error as Error).message}`;
      logger.error({ err: error, adapter, version: policy.version, served }, 'the head cannot be loaded');
      await new Promise<void>((resolve) => {
        wake = resolve;
        setTimeout(resolve, wait).unref();
      });
      if (wanted === policy) wait = Math.min(2 * wait, LONGEST_RETRY * retryMs);
      return;
    }
    const milliseconds = monotonicNow() - began;
    served = policy.version;
    problem = undefined;
    wait = retryMs;
    metrics.servedVersion.set({ adapter }, policy.version);
    logger.info({ adapter, version: policy.version, milliseconds }, 'serving');
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
    wait = retryMs;
    wake();
    metrics.headVersion.set({ adapter }, head.version);
    if (loading !== undefined && head.version < loading.version) loading.stop.abort();
    void catchUp();
  });
  return { served: () => served, problem: () => problem };
}
