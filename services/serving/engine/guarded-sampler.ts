import type { Random } from '../../../shared/policy/random.ts';
import {
  logProbOf,
  type SampledToken,
  type SamplingHistory,
  type SamplingSettings,
  sampleToken,
} from '../../../shared/policy/sampling.ts';
import type { TokenGuard } from './token-guard.ts';

export type GuardedSampler = {
  /** As `sampleToken`; of the tokens that the guard accepts, where there is one. */
  readonly sample: (
    logits: Float32Array,
    settings: SamplingSettings,
    random: Random,
    history: SamplingHistory,
  ) => SampledToken;
  /** Whether a token was taken that the policy alone would not have taken. */
  readonly hasForced: () => boolean;
  /** Whether the guard lets nothing more come. */
  readonly isOver: () => boolean;
};

/** Tokens that are tried one by one before all are looked through. */
const MOST_TRIES = 16;

/** Its `sample` throws Error where no token may follow: no text of the vocabulary is accepted. */
export function createGuardedSampler(guard: TokenGuard | undefined): GuardedSampler {
  if (guard === undefined) return { sample: sampleToken, hasForced: () => false, isOver: () => false };
  let hasForced = false;
  return {
    sample: (logits, settings, random, history) => {
      let allowed = logits;
      for (let tries = 0; ; tries++) {
        const { id } = sampleToken(allowed, settings, random, history);
        if (guard.accepts(id)) {
          guard.take(id);
          return { id, logProb: logProbOf(logits, settings.temperature, id) };
        }
        if (allowed === logits) allowed = logits.slice();
        hasForced = true;
        allowed[id] = Number.NEGATIVE_INFINITY;
        if (tries !== MOST_TRIES) continue;
        guard.keepOut(allowed);
        if (allowed.every((logit) => logit === Number.NEGATIVE_INFINITY))
          throw new Error('no token of the vocabulary goes on with the answer');
      }
    },
    hasForced: () => hasForced,
    isOver: guard.isOver,
  };
}
