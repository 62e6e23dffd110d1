import type { ServingConfig } from '../../../shared/config/serving.ts';
import type { ModelConfig } from '../../../shared/policy/model/model-config.ts';
import { isShipped } from '../../../shared/policy/model/model-folder.ts';
import { floatsPerPosition } from '../../../shared/policy/ops/kv-cache.ts';

type ContextSetup = {
  /** A limit below that of the model. */
  readonly contextTokens: number | undefined;
  /** Bytes for the keys and values of all running answers. */
  readonly cacheBytes: number;
};

/** Whether a prompt that does not fit is cut to a window or refused. */
export const contextMode = ({
  context,
  model,
}: Pick<ServingConfig, 'context' | 'model'>): 'window' | 'error' =>
  context === 'auto' ? (isShipped(model) ? 'window' : 'error') : context;

/** Limits of one prompt with its answer, and of all running answers. */
export type Context = {
  readonly tokens: number;
  /** Positions of the cache, shared by all answers. */
  readonly cachePositions: number;
  /** One line for the operator if memory limits the context. */
  readonly note: string | undefined;
};

/** The cache grows in steps of this many positions. */
const positionStep = 256;

/** Limits each answer to the whole cache, so that every answer can finish. */
export function contextOf(config: ModelConfig, { contextTokens, cacheBytes }: ContextSetup): Context {
  const bytes = Float32Array.BYTES_PER_ELEMENT * floatsPerPosition(config);
  const cachePositions = Math.floor(cacheBytes / bytes / positionStep) * positionStep;
  if (cachePositions === 0) {
    const least = Math.ceil((positionStep * bytes) / 2 ** 20);
    throw new Error(
      `the key-value cache is too small for this model: set --kv-cache-mib to at least ${least}`,
    );
  }
  const wanted = Math.min(config.maxPositions, contextTokens ?? Number.POSITIVE_INFINITY);
  const tokens = Math.min(wanted, cachePositions);
  const mebibytes = Math.ceil((Math.ceil(wanted / positionStep) * positionStep * bytes) / 2 ** 20);
  return {
    tokens,
    cachePositions,
    note:
      tokens < wanted
        ? `context limited to ${tokens} tokens; ${wanted} tokens need --kv-cache-mib ${mebibytes}`
        : undefined,
  };
}
