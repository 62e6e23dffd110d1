import type { ModelConfig } from '../../../shared/policy/model-config.ts';
import { CLAW_NANO } from '../../../shared/policy/model-folder.ts';
import { floatsPerPosition } from '../../../shared/policy/ops/kv-cache.ts';
import type { ServingConfig } from '../config.ts';

type ContextSetup = {
  /** A limit below the model's own. */
  readonly contextTokens: number | undefined;
  /** Bytes of the keys and values of all answers that are being generated. */
  readonly cacheBytes: number;
};

/** What becomes of a prompt that does not fit: it is cut to a window, or refused. */
export const contextMode = ({
  context,
  model,
}: Pick<ServingConfig, 'context' | 'model'>): 'window' | 'error' =>
  context === 'auto' ? (model === CLAW_NANO ? 'window' : 'error') : context;

/** How much an answer and its prompt may have, and all of them together. */
export type Context = {
  readonly tokens: number;
  /** Positions of the cache, of all answers together. */
  readonly cachePositions: number;
  /** For a person: why it is less than what the model can, if it is for want of memory. */
  readonly note: string | undefined;
};

/** The cache grows in steps of so many positions. */
const positionStep = 256;

/** Every answer that is begun must be able to end: none may need more than the whole cache. */
export function contextOf(config: ModelConfig, { contextTokens, cacheBytes }: ContextSetup): Context {
  const bytes = Float32Array.BYTES_PER_ELEMENT * floatsPerPosition(config);
  const cachePositions = Math.floor(cacheBytes / bytes / positionStep) * positionStep;
  if (cachePositions === 0) {
    const least = Math.ceil((positionStep * bytes) / 2 ** 20);
    throw new Error(`the keys and values of this model need more room: --kv-cache-mib ${least} at least`);
  }
  const wanted = Math.min(config.maxPositions, contextTokens ?? Number.POSITIVE_INFINITY);
  const tokens = Math.min(wanted, cachePositions);
  const mebibytes = Math.ceil((Math.ceil(wanted / positionStep) * positionStep * bytes) / 2 ** 20);
  return {
    tokens,
    cachePositions,
    note:
      tokens < wanted
        ? `context of ${tokens} tokens; all ${wanted} need --kv-cache-mib ${mebibytes}`
        : undefined,
  };
}
