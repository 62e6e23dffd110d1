import { unlessAborted } from '../../../../shared/lang/async.ts';
import { defined } from '../../../../shared/lang/defined.ts';
import { isServiceError } from '../../../../shared/runtime/errors.ts';
import type { Logger } from '../../../../shared/runtime/logger.ts';
import { ServingError } from '../../errors.ts';
import type {
  Choice,
  Engine,
  EngineCounters,
  GenerationListener,
  GenerationRequest,
  PolicyTarget,
  PolicyVersion,
} from '../../generation.ts';
import { readEvents } from './events.ts';
import type { ChoiceChunk, UpstreamDialect } from './exchange.ts';
import { watchHealth } from './health.ts';
import type { UpstreamHttp } from './http.ts';
import type { ModelLease, UpstreamModels } from './models.ts';
import { hasLostModel, refusalError, type UpstreamRefusal } from './refusal.ts';

type UpstreamSetup = {
  /** One line for the operator. */
  readonly report: string;
  readonly http: UpstreamHttp;
  readonly models: UpstreamModels;
  readonly hasVersions: boolean;
  readonly dialect: UpstreamDialect;
  /** Rejects while the server is unavailable. */
  readonly checkHealth: () => Promise<void>;
  /** ms between two checks */
  readonly healthMs: number;
  /** Fills in settings that the client did not send. */
  readonly settle: (request: GenerationRequest) => GenerationRequest;
  readonly logger: Pick<Logger, 'info' | 'warn'>;
};

/**
 * Generates on another server. If it accepts adapters, the live version is the latest adapter loaded there. An
 * answer keeps the adapter it began with, which stays loaded until the answer ends.
 */
export function openUpstreamEngine(setup: UpstreamSetup): Engine {
  const { http, models, dialect, logger } = setup;
  const { countTokens } = dialect;
  const live = createLiveVersions(models);
  let running = 0;
  const health = watchHealth({
    check: setup.checkHealth,
    everyMs: setup.healthMs,
    onChange: (problem) => {
      if (problem === undefined) logger.info('upstream engine is available again');
      else logger.warn({ reason: problem, report: setup.report }, 'upstream engine is not available');
    },
    onRecovery: async () => {
      try {
        await models.recheck();
        for (const policy of live.all()) (await models.lease(policy)).release();
      } catch (error) {
        logger.warn(
          { err: error },
          'could not reload the live version on the upstream engine; the next request retries',
        );
      }
    },
  });

  const targetOf = async ({ target }: GenerationRequest, signal: AbortSignal): Promise<PolicyVersion> => {
    if (target.kind === 'pinned') return target;
    return setup.hasVersions ? live.of(target, signal) : { version: 0 };
  };
  /** If the server does not know the model name, loads it again and retries once. */
  const generate: Engine['generate'] = async (original, listener, signal) => {
    const request = setup.settle(original);
    for (let attempt = 0; ; attempt++) {
      const lease = await leaseVersion(models, await targetOf(request, signal));
      try {
        const outcome = await answerOnce(setup, { request, lease, listener, signal });
        if (outcome.kind === 'answered') return outcome.choices;
        if (attempt > 0 || !hasLostModel(outcome.refusal, lease.model)) throw refusalError(outcome.refusal);
        lease.lost();
      } finally {
        lease.release();
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
      const lease = await models.lease(policy);
      if (!signal.aborted) live.moveTo(adapter, policy);
      lease.release();
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
    withAdapterNames: models.withNames.bind(models),
    problem: () => dialect.problem?.() ?? health.problem(),
    counters: async () => ({ ...nothingCounted, running, versions: models.loaded() }),
    failed: dialect.failed ?? new Promise<never>(() => {}),
    close: async () => {
      health.close();
      await Promise.all([http.close(), dialect.close()]);
    },
  };
}

/** @throws ServingError VERSION_UNAVAILABLE */
async function leaseVersion(models: UpstreamModels, policy: PolicyVersion): Promise<ModelLease> {
  try {
    return await models.lease(policy);
  } catch (error) {
    const detail = (error as Error).message;
    throw ServingError.VERSION_UNAVAILABLE({ version: policy.version, detail, retryAfterSeconds: 5 });
  }
}

type Outcome =
  | { readonly kind: 'answered'; readonly choices: readonly Choice[] }
  | { readonly kind: 'refused'; readonly refusal: UpstreamRefusal };

type Attempt = {
  readonly request: GenerationRequest;
  readonly lease: ModelLease;
  readonly listener: GenerationListener;
  readonly signal: AbortSignal;
};

/** Sends one request and reads its answer, which is partial if the signal aborts after the first chunk. */
async function answerOnce(
  { http, dialect }: Pick<UpstreamSetup, 'http' | 'dialect'>,
  { request, lease, listener: { onStart, onChunk }, signal }: Attempt,
): Promise<Outcome> {
  const exchange = await dialect.prepare(request, lease);
  const show = ({ chunk, choice }: ChoiceChunk) => onChunk(chunk, choice);
  let hasBegun = false;
  let refusal: UpstreamRefusal | undefined;
  const read = (data: string): readonly ChoiceChunk[] => {
    if (hasBegun) return exchange.read(data);
    refusal = exchange.refusal(data);
    if (refusal !== undefined) return [];
    const chunks = exchange.read(data);
    hasBegun = true;
    onStart({ version: lease.version, ...defined({ promptTokens: exchange.promptTokens() }) });
    return chunks;
  };
  const isEnough = () => refusal !== undefined || exchange.isCut?.() === true;
  try {
    const opened = await http.post(exchange.address, exchange.body, signal, request.traceparent);
    if (opened.kind === 'refused') return opened;
    await readEvents(opened.bytes, { read, show, isEnough });
    if (refusal !== undefined) return { kind: 'refused', refusal };
    if (!exchange.isOver()) {
      const detail = hasBegun
        ? 'its stream ended without finish_reason'
        : 'its answer has no events of a stream; check --upstream-url and --upstream-kind';
      throw ServingError.UPSTREAM_FAILED({ detail });
    }
    exchange.atEnd().forEach(show);
    return { kind: 'answered', choices: exchange.choices(false) };
  } catch (error) {
    if (!signal.aborted) throw asUpstreamFailure(error);
    if (!hasBegun) throw signal.reason;
    return { kind: 'answered', choices: exchange.choices(true) };
  }
}

type LiveTarget = Extract<PolicyTarget, { readonly kind: 'live' }>;

/** The live version of each adapter. */
type LiveVersions = {
  readonly moveTo: (adapter: string, policy: PolicyVersion) => void;
  /** Waits for the first version. Rejects with the reason of the signal. */
  readonly of: (target: LiveTarget, signal: AbortSignal) => Promise<PolicyVersion>;
  readonly all: () => readonly PolicyVersion[];
};

function createLiveVersions(models: Pick<UpstreamModels, 'keepLive'>): LiveVersions {
  const live = new Map<string, PolicyVersion>();
  const firstLive = new Map<string, PromiseWithResolvers<PolicyVersion>>();
  const firstOf = (adapter: string): PromiseWithResolvers<PolicyVersion> => {
    const first = firstLive.get(adapter) ?? Promise.withResolvers<PolicyVersion>();
    firstLive.set(adapter, first);
    return first;
  };
  return {
    moveTo: (adapter, policy) => {
      live.set(adapter, policy);
      models.keepLive(adapter, policy.version);
      firstOf(adapter).resolve(policy);
    },
    of: async ({ adapter, canary }, signal) => {
      const candidate = canary === undefined ? undefined : live.get(canary);
      // a canary that has ended has version 0
      if (candidate !== undefined && candidate.version > 0) return candidate;
      return live.get(adapter) ?? unlessAborted(firstOf(adapter).promise, signal);
    },
    all: () => [...live.values()],
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

const asUpstreamFailure = (error: unknown): unknown =>
  isServiceError(error) ? error : ServingError.UPSTREAM_FAILED({ detail: (error as Error).message });
