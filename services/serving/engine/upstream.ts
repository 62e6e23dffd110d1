import { isServiceError } from '../../../shared/service/errors.ts';
import type { Logger } from '../../../shared/service/logger.ts';
import { ServingError } from '../errors.ts';
import type { Engine, EngineCounters, GenerationRequest, PolicyVersion } from './engine.ts';
import { hearEvents } from './upstream-events.ts';
import type { UpstreamDialect, UpstreamExchange } from './upstream-exchange.ts';
import { watchHealth } from './upstream-health.ts';
import type { UpstreamHttp } from './upstream-http.ts';
import type { ModelLease, UpstreamModels } from './upstream-models.ts';
import { hasLostModel, refusalError } from './upstream-refusal.ts';

export type UpstreamSetup = {
  /** For a person. */
  readonly report: string;
  readonly http: UpstreamHttp;
  readonly models: UpstreamModels;
  readonly hasVersions: boolean;
  readonly dialect: UpstreamDialect;
  /** Rejects while it cannot be asked. */
  readonly checkHealth: () => Promise<void>;
  /** What a client leaves out of its settings. */
  readonly settle: (request: GenerationRequest) => GenerationRequest;
  readonly logger: Pick<Logger, 'info' | 'warn'>;
};

const HEALTH_MS = 5_000;

/**
 * A server of another make generates. Where it takes adapters, the live alias is the name of the newest one
 * that was loaded there; an answer is of the name that it was asked of, and its adapter stays until it ends.
 */
export function openUpstreamEngine(setup: UpstreamSetup): Engine {
  const { http, models, dialect, logger } = setup;
  const firstLive = Promise.withResolvers<PolicyVersion>();
  let live: PolicyVersion | undefined;
  let running = 0;

  const moveTo = (policy: PolicyVersion): void => {
    live = policy;
    models.keepLive(policy.version);
    firstLive.resolve(policy);
  };
  if (!setup.hasVersions) moveTo({ version: 0 });

  const health = watchHealth({
    check: setup.checkHealth,
    everyMs: HEALTH_MS,
    onChange: (problem) => {
      if (problem === undefined) logger.info('the upstream engine answers again');
      else logger.warn({ problem }, 'the upstream engine does not answer');
    },
    onRecovery: async () => {
      try {
        await models.recheck();
        if (live !== undefined) (await models.hold(live)).letGo();
      } catch (error) {
        logger.warn({ err: error }, 'the upstream engine did not take the live version again');
      }
    },
  });

  const holdTarget = async ({ target }: GenerationRequest, signal: AbortSignal): Promise<ModelLease> => {
    const policy =
      target.kind === 'pinned' ? target : (live ?? (await beforeAbort(firstLive.promise, signal)));
    try {
      return await models.hold(policy);
    } catch (error) {
      const detail = (error as Error).message;
      throw ServingError.VERSION_UNAVAILABLE({ version: policy.version, detail, retryAfterSeconds: 5 });
    }
  };

  /** A name that the server does not know (any more) has said nothing: it is made known, and asked again. */
  const open = async (request: GenerationRequest, signal: AbortSignal) => {
    for (let attempt = 0; ; attempt++) {
      const lease = await holdTarget(request, signal);
      try {
        const exchange = await dialect.ask(request, lease);
        const opened = await http.ask(exchange.address, exchange.body, signal);
        if (opened.kind === 'answer') return { lease, exchange, body: opened.body };
        if (attempt > 0 || !hasLostModel(opened.refusal, lease.model)) throw refusalError(opened.refusal);
      } catch (error) {
        lease.letGo();
        throw error;
      }
      lease.lost();
      lease.letGo();
    }
  };

  const generate: Engine['generate'] = async (request, listener, signal) => {
    const settled = setup.settle(request);
    let begun: { readonly exchange: UpstreamExchange; readonly lease: ModelLease } | undefined;
    try {
      const { body, ...opened } = await open(settled, signal);
      begun = opened;
      const { exchange, lease } = opened;
      const { version } = lease;
      const { promptTokens } = exchange;
      listener.onStart({ version, ...(promptTokens === undefined ? {} : { promptTokens }) });
      await hearEvents(body, {
        hear: exchange.hear,
        show: ({ chunk, choice }) => listener.onChunk(chunk, choice),
      });
      if (!exchange.hasFinished())
        throw ServingError.UPSTREAM_FAILED({ detail: 'its stream ended without finish_reason' });
      for (const { chunk, choice } of exchange.rest()) listener.onChunk(chunk, choice);
      return exchange.choices(false);
    } catch (error) {
      if (!signal.aborted) throw asUpstreamFailure(error);
      if (begun === undefined) throw signal.reason;
      return begun.exchange.choices(true);
    } finally {
      begun?.lease.letGo();
    }
  };

  return {
    name: 'upstream',
    report: setup.report,
    hasVersions: setup.hasVersions,
    generate: async (...call) => {
      running += 1;
      try {
        return await generate(...call);
      } finally {
        running -= 1;
      }
    },
    serve: async (policy, signal) => {
      const lease = await models.hold(policy);
      if (!signal.aborted) moveTo(policy);
      lease.letGo();
      if (signal.aborted) throw ServingError.STOPPING();
    },
    ...(dialect.countTokens === undefined ? {} : { countTokens: dialect.countTokens }),
    problem: health.problem,
    counters: async () => ({ ...nothingCounted, running, versions: models.versions() }),
    failed: new Promise<never>(() => {}),
    close: async () => {
      health.close();
      await Promise.all([http.close(), dialect.close()]);
    },
  };
}

const nothingCounted: Omit<EngineCounters, 'running' | 'versions'> = {
  tensors: 0,
  waiting: 0,
  steps: 0,
  stepSequences: 0,
  promptTokens: 0,
  cachedTokens: 0,
  preemptions: 0,
  cachePositions: 0,
  prefixBlocks: 0,
};

async function beforeAbort<Value>(value: Promise<Value>, signal: AbortSignal): Promise<Value> {
  const aborted = Promise.withResolvers<never>();
  const onAbort = () => aborted.reject(signal.reason);
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    return await Promise.race([value, aborted.promise]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

const asUpstreamFailure = (error: unknown): unknown =>
  isServiceError(error) ? error : ServingError.UPSTREAM_FAILED({ detail: (error as Error).message });
