import { topIds } from '../losses/distribution.ts';
import type { Adapter, Policy } from '../model/policy.ts';
import { LEAST_PROBABILITY } from '../ops/candidates.ts';
import { microbatchesOn } from './batching.ts';
import { eachLogitsOf, type PolicySequence } from './scoring.ts';

/** A policy's distribution at each position of a response: log-probs in nats, at the sequence's temperature. */
export type TokenDistributions = {
  /** of the response's own tokens, [T] */
  readonly sampled: Float32Array;
  /** the likeliest tokens of each position, the likeliest first, of equals the lower id: [T * count] */
  readonly topIds: Int32Array;
  /** of those, [T * count] */
  readonly top: Float32Array;
  /** of all other tokens together, [T] */
  readonly rest: Float32Array;
  /** of the requested tokens, [T * count]; empty if none were requested */
  readonly requested: Float32Array;
};

export type DistributionRequest = {
  /** tokens per position */
  readonly count: number;
  /** of each sequence: further tokens whose log-probs to return, [T * count] */
  readonly requested?: readonly Int32Array[] | undefined;
  /**
   * Ids at or above this never count as likely. Two models with the same tokenizer may pad their vocabularies to
   * different widths.
   */
  readonly below?: number | undefined;
  /**
   * Share of the base's log-probs in those of the adapter's, 0 to 1: the distribution is proportional to
   * p(adapter)^(1 - share) p(base)^share. Default 0.
   */
  readonly anchor?: number | undefined;
};

/**
 * The likeliest tokens at every position of each response, and requested ones. One full forward pass without
 * a cache; at most 128 MB of logits exist at a time. Sums are in f64.
 */
export function tokenDistributions(
  policy: Policy,
  adapter: Adapter | undefined,
  sequences: readonly PolicySequence[],
  { count, requested, below, anchor = 0 }: DistributionRequest,
): readonly TokenDistributions[] {
  const width = policy.config.vocabularySize;
  const result = sequences.map(({ responseIds: { length } }, index) => ({
    sampled: new Float32Array(length),
    topIds: new Int32Array(length * count),
    top: new Float32Array(length * count),
    rest: new Float32Array(length),
    requested: new Float32Array(requested?.[index]?.length ?? 0),
  }));
  for (const microbatch of microbatchesOn(policy.executor, sequences)) {
    const places = microbatch.members.flatMap((index) =>
      sequences[index]!.responseIds.map((sampled, t) => ({ index, sampled, t })),
    );
    const versions = anchor === 0 || adapter === undefined ? [adapter] : [adapter, undefined];
    eachLogitsOf(policy, versions, microbatch, (logits, start, rows) => {
      const [adapted, base] = logits.map((tensor) => policy.executor.read(tensor));
      const values = base === undefined ? adapted! : mixed(adapted!, base, anchor);
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
        requested?.[index]?.subarray(t * count, (t + 1) * count).forEach((id, j) => {
          into.requested[t * count + j] = logProbOf(id);
        });
      }
    });
  }
  return result;
}

/**
 * Logits of the geometric mean of two distributions. The offset between logit and log-prob is the same for every
 * token of a row, so that a softmax over the mean of the logits is normalised over the whole vocabulary.
 */
const mixed = (adapted: Float32Array, base: Float32Array, share: number): Float32Array =>
  adapted.map((logit, index) => (1 - share) * logit + share * base[index]!);

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
    // the model may have no row for the token
    logProbOf: (id: number) =>
      id < logits.length ? (logits[id]! - most) / temperature - normaliser : Math.log(LEAST_PROBABILITY),
  };
}
