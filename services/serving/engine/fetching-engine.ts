import { isServiceError } from '../../../shared/runtime/errors.ts';
import { ServingError } from '../errors.ts';
import type { AdapterSource, Engine } from '../generation.ts';
import type { CheckpointCache } from './checkpoint-cache.ts';

const RETRY_AFTER_S = 5;

/** An engine that loads versions from a bucket: each is copied to this host first. */
export function fetchingEngine(engine: Engine, cache: Pick<CheckpointCache, 'ensure' | 'forget'>): Engine {
  /** After a failure the copy is compared again: it may be damaged. */
  const onCopy = async <Result>(source: AdapterSource | undefined, work: () => Promise<Result>) => {
    if (source === undefined) return work();
    try {
      return await work();
    } catch (error) {
      if (!isServiceError(error) || error.name === 'VERSION_UNAVAILABLE') cache.forget(source);
      throw error;
    }
  };
  return {
    ...engine,
    serve: async (adapter, policy, signal) => {
      if (policy.adapter !== undefined) await cache.ensure(policy.adapter);
      if (signal.aborted) throw ServingError.STOPPING();
      return onCopy(policy.adapter, () => engine.serve(adapter, policy, signal));
    },
    generate: async (request, listener, signal) => {
      const { target } = request;
      if (target.kind === 'live') return engine.generate(request, listener, signal);
      const { version, adapter } = target;
      if (adapter !== undefined)
        await cache.ensure(adapter).catch((error: Error) => {
          throw ServingError.VERSION_UNAVAILABLE({
            version,
            detail: error.message,
            retryAfterSeconds: RETRY_AFTER_S,
          });
        });
      return onCopy(adapter, () => engine.generate(request, listener, signal));
    },
  };
}
