import type { Random } from '../../../shared/policy/random.ts';
import {
  logProbOf,
  type SampledToken,
  type SamplingHistory,
  type SamplingSettings,
  sampleToken,
} from '../../../shared/policy/sampling.ts';
import type { Tokenizer } from '../../../shared/policy/tokenizer.ts';
import type { CallGuard } from '../chat/forced-call.ts';

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
};

type Texts = Pick<Tokenizer, 'decode'>;
type Model = { readonly tokenizer: Texts; readonly endTokenIds: ReadonlySet<number> };

/** Tokens that are tried one by one before all are looked through. */
const MOST_TRIES = 16;
/** The text of each token, by tokenizer: looking through a vocabulary decodes all of it, once. */
const known = new WeakMap<Texts, Map<number, string>>();

/** @throws Error where no token may follow: no text of the vocabulary is accepted */
export function createGuardedSampler(
  { tokenizer, endTokenIds }: Model,
  guard: CallGuard | undefined,
): GuardedSampler {
  if (guard === undefined) return { sample: sampleToken, hasForced: () => false };
  const texts = known.get(tokenizer) ?? new Map<number, string>();
  known.set(tokenizer, texts);
  const textOf = (id: number): string => {
    if (endTokenIds.has(id)) return ''; // it would end the call before it is whole
    const text = texts.get(id) ?? tokenizer.decode([id], { skipSpecial: true });
    texts.set(id, text);
    return text;
  };
  let hasForced = false;
  return {
    sample: (logits, settings, random, history) => {
      let allowed = logits;
      for (let tries = 0; ; tries++) {
        const { id } = sampleToken(allowed, settings, random, history);
        if (guard.accepts(textOf(id))) {
          guard.take(textOf(id));
          return { id, logProb: logProbOf(logits, settings.temperature, id) };
        }
        if (allowed === logits) allowed = logits.slice();
        hasForced = true;
        allowed[id] = Number.NEGATIVE_INFINITY;
        if (tries !== MOST_TRIES) continue;
        for (let other = 0; other < allowed.length; other++)
          if (!guard.accepts(textOf(other))) allowed[other] = Number.NEGATIVE_INFINITY;
        if (allowed.every((logit) => logit === Number.NEGATIVE_INFINITY))
          throw new Error('no token of the vocabulary goes on with the call');
      }
    },
    hasForced: () => hasForced,
  };
}
