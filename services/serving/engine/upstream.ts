import { isServiceError } from '../../../shared/service/errors.ts';
import type { Logger } from '../../../shared/service/logger.ts';
import { ServingError } from '../errors.ts';
import type {
  Choice,
  Engine,
  EngineCounters,
  GenerationListener,
  GenerationRequest,
  PolicyVersion,
} from './engine.ts';
import { hearEvents } from './upstream-events.ts';
import type { HeardChunk, UpstreamDialect } from './upstream-exchange.ts';
import { watchHealth } from './upstream-health.ts';
import type { UpstreamHttp } from './upstream-http.ts';
import type { ModelLease, UpstreamModels } from './upstream-models.ts';
import { hasLostModel, refusalError, type UpstreamRefusal } from './upstream-refusal.ts';

export type UpstreamSetup = {
  /** For a person. */
  readonly report: string;
  readonly http: UpstreamHttp;
  readonly models: UpstreamModels;
  readonly hasVersions: boolean;
  readonly dialect: UpstreamDialect;
  /** Rejects while it cannot be asked. */
  readonly checkHealth: () => Promise<void>;
  /** ms between two checks */
  readonly healthMs: number;
  /** What a client leaves out of its settings. */
  readonly settle: (request: GenerationRequest) => GenerationRequest;
  readonly logger: Pick<Logger, 'info' | 'warn'>;
};

/**
 * A server of another make generates. Where it takes adapters, the live alias is the name of the newest one
 * that was loaded there; an answer is of the name that it was asked of, and its adapter stays until it ends.
 */
export function openUpstreamEngine(setup: UpstreamSetup): Engine {
  const { http, models, dialect, logger } = setup;
  const { countTokens } = dialect;
  /** by adapter */
  const live = new Map<string, PolicyVersion>();
  const firstLive = new Map<string, PromiseWithResolvers<PolicyVersion>>();
  let running = 0;

  const firstOf = (adapter: string): PromiseWithResolvers<PolicyVersion> => {
    const first = firstLive.get(adapter) ?? Promise.withResolvers<PolicyVersion>();
    firstLive.set(adapter, first);
    return first;
  };
  const moveTo = (adapter: string, policy: PolicyVersion): void => {
    live.set(adapter, policy);
    models.keepLive(adapter, policy.version);
    firstOf(adapter).resolve(policy);
  };
  const liveOf = async (adapter: string, signal: AbortSignal): Promise<PolicyVersion> => {
    if (!setup.hasVersions) return { version: 0 };
    return live.get(adapter) ?? (await beforeAbort(firstOf(adapter).promise, signal));
  };

  const health = watchHealth({
    check: setup.checkHealth,
    everyMs: setup.healthMs,
    onChange: (problem) => {
      if (problem === undefined) logger.info('the upstream engine answers again');
      else logger.warn({ problem }, 'the upstream engine does not answer');
    },
    onRecovery: async () => {
      try {
        await models.recheck();
        for (const policy of live.values()) (await models.hold(policy)).letGo();
      } catch (error) {
        logger.warn({ err: error }, 'the upstream engine did not take the live version again');
      }
    },
  });

  const holdTarget = async ({ target }: GenerationRequest, signal: AbortSignal): Promise<ModelLease> => {
    const policy = target.kind === 'pinned' ? target : await liveOf(target.adapter, signal);
    try {
      return await models.hold(policy);
    } catch (error) {
      const detail = (error as Error).message;
      throw ServingError.VERSION_UNAVAILABLE({ version: policy.version, detail, retryAfterSeconds: 5 });
    }
  };

  const answerOnce = async (
    request: GenerationRequest,
    lease: ModelLease,
    { onStart, onChunk }: GenerationListener,
    signal: AbortSignal,
  ): Promise<Outcome> => {
    const exchange = await dialect.ask(request, lease);
    const { version } = lease;
    const show = ({ chunk, choice }: HeardChunk) => onChunk(chunk, choice);
    let hasBegun = false;
    let refusal: UpstreamRefusal | undefined;
    const hear = (data: string): readonly HeardChunk[] => {
      if (hasBegun) return exchange.hear(data);
      refusal = exchange.refusal(data);
      if (refusal !== undefined) return [];
      const heard = exchange.hear(data);
      hasBegun = true;
      const promptTokens = exchange.promptTokens();
      onStart({ version, ...(promptTokens === undefined ? {} : { promptTokens }) });
      return heard;
    };
    const isEnough = () => refusal !== undefined || exchange.isCut?.() === true;
    try {
      const opened = await http.ask(exchange.address, exchange.body, signal);
      if (opened.kind === 'refused') return opened;
      await hearEvents(opened.bytes, { hear, show, isEnough });
      if (refusal !== undefined) return { kind: 'refused', refusal };
      if (!exchange.isOver())
        throw ServingError.UPSTREAM_FAILED({ detail: 'its stream ended without finish_reason' });
      exchange.rest().forEach(show);
      return { kind: 'answered', choices: exchange.choices(false) };
    } catch (error) {
      if (!signal.aborted) throw asUpstreamFailure(error);
      if (!hasBegun) throw signal.reason;
      return { kind: 'answered', choices: exchange.choices(true) };
    }
  };

  /** A name that the server does not know (any more) has said nothing: it is made known, and asked again. */
  const generate: Engine['generate'] = async (asked, listener, signal) => {
    const request = setup.settle(asked);
    for (let attempt = 0; ; attempt++) {
      const lease = await holdTarget(request, signal);
      try {
        const outcome = await answerOnce(request, lease, listener, signal);
        if (outcome.kind === 'answered') return outcome.choices;
        if (attempt > 0 || !hasLostModel(outcome.refusal, lease.model)) throw refusalError(outcome.refusal);
        lease.lost();
      } finally {
        lease.letGo();
      }
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
    serve: async (adapter, policy, signal) => {
      const lease = await models.hold(policy);
      if (!signal.aborted) moveTo(adapter, policy);
      lease.letGo();
      if (signal.aborted) throw ServingError.STOPPING();
    },
    ...(countTokens === undefined
      ? {}
      : {
          countTokens: (prompt) =>
            countTokens(prompt).catch((error) => {
              throw asUpstreamFailure(error);
            }),
        }),
    problem: () => dialect.problem?.() ?? health.problem(),
    counters: async () => ({ ...nothingCounted, running, versions: models.loaded() }),
    failed: dialect.failed ?? new Promise<never>(() => {}),
    close: async () => {
      health.close();
      await Promise.all([http.close(), dialect.close()]);
    },
  };
}

type Outcome =
  | { readonly kind: 'answered'; readonly choices: readonly Choice[] }
  | { readonly kind: 'refused'; readonly refusal: UpstreamRefusal };

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
