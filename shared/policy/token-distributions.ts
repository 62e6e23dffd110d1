import { microbatchesOn } from './batching.ts';
import { topIds } from './losses/distribution.ts';
import { LEAST_PROBABILITY } from './ops/candidates.ts';
import type { Adapter, Policy } from './policy.ts';
import { eachLogitsOf, type PolicySequence } from './scoring.ts';

/** What a policy would say at each position of a response: log-probs, nats, at the sequence's temperature. */
export type TokenDistributions = {
  /** of the response's own tokens, [T] */
  readonly sampled: Float32Array;
  /** the likeliest tokens of each position, the likeliest first, of equals the lower id: [T * count] */
  readonly topIds: Int32Array;
  /** of those, [T * count] */
  readonly top: Float32Array;
  /** of all other tokens together, [T] */
  readonly rest: Float32Array;
  /** of the tokens that were asked for, [T * count]; empty where none were */
  readonly asked: Float32Array;
};

export type DistributionRequest = {
  /** tokens per position */
  readonly count: number;
  /** of each sequence: tokens whose log-probs are wanted whatever they are, [T * count] */
  readonly asked?: readonly Int32Array[] | undefined;
  /**
   * Ids from here on are nobody's likeliest, whatever their logits. Two models of one tokenizer may pad their
   * vocabularies to different widths.
   */
  readonly below?: number | undefined;
  /**
   * Share of the base's log-probs in those of the adapter's, 0 to 1: the distribution is proportional to
   * p(adapter)^(1 - share) p(base)^share. None unless told.
   */
  readonly anchor?: number | undefined;
};

/**
 * The likeliest tokens at every position of each response, and others that are asked for. One full forward
 * pass, no cache; logits of no more than 128 MB are there at a time. Sums are made in f64.
 */
export function tokenDistributions(
  policy: Policy,
  adapter: Adapter | undefined,
  sequences: readonly PolicySequence[],
  { count, asked, below, anchor = 0 }: DistributionRequest,
): readonly TokenDistributions[] {
  const width = policy.config.vocabularySize;
  const result = sequences.map(({ responseIds: { length } }, index) => ({
    sampled: new Float32Array(length),
    topIds: new Int32Array(length * count),
    top: new Float32Array(length * count),
    rest: new Float32Array(length),
    asked: new Float32Array(asked?.[index]?.length ?? 0),
  }));
  for (const microbatch of microbatchesOn(policy.executor, sequences)) {
    const places = microbatch.members.flatMap((index) =>
      sequences[index]!.responseIds.map((sampled, t) => ({ index, sampled, t })),
    );
    const speakers = anchor === 0 || adapter === undefined ? [adapter] : [adapter, undefined];
    eachLogitsOf(policy, speakers, microbatch, (logits, start, rows) => {
      const [own, base] = logits.map((tensor) => policy.executor.read(tensor));
      const values = base === undefined ? own! : mixed(own!, base, anchor);
      for (let row = 0; row < rows; row++) {
        const { index, sampled, t } = places[start + row]!;
        const line = values.subarray(row * width, (row + 1) * width);
        const { top, rest, logProbOf } = rowDistribution(
          line,
          count,
          sequences[index]!.temperature ?? 1,
          below,
        );
        const into = result[index]!;
        into.sampled[t] = logProbOf(sampled);
        into.rest[t] = rest;
        top.forEach((id, j) => {
          into.topIds[t * count + j] = id;
          into.top[t * count + j] = logProbOf(id);
        });
        asked?.[index]?.subarray(t * count, (t + 1) * count).forEach((id, j) => {
          into.asked[t * count + j] = logProbOf(id);
        });
      }
    });
  }
  return result;
}

/**
 * Logits of the geometric mean of two distributions: what each lacks to be a log-prob is the same for every
 * token of a row, so that the softmax over the mean of their logits is normalised over the whole vocabulary.
 */
const mixed = (own: Float32Array, base: Float32Array, share: number): Float32Array =>
  own.map((logit, index) => (1 - share) * logit + share * base[index]!);

/** @param logits of one position, [vocabulary] */
function rowDistribution(logits: Float32Array, count: number, temperature: number, below = logits.length) {
  const top = topIds(logits.subarray(0, below), count);
  let most = Number.NEGATIVE_INFINITY;
  for (const logit of logits) if (logit > most) most = logit;
  const inTop = new Set(top);
  const weightOf = (id: number) => Math.exp((logits[id]! - most) / temperature);
  let others = 0;
  for (let id = 0; id < logits.length; id++) if (!inTop.has(id)) others += weightOf(id);
  const normaliser = Math.log(top.reduce((sum, id) => sum + weightOf(id), others));
  return {
    top,
    rest: Math.log(Math.max(others, LEAST_PROBABILITY)) - normaliser,
    // a token that the model has no row for
    logProbOf: (id: number) =>
      id < logits.length ? (logits[id]! - most) / temperature - normaliser : Math.log(LEAST_PROBABILITY),
  };
}
