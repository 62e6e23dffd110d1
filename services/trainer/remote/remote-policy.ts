import type { PolicySequence } from '../../../shared/policy/train/batching.ts';
import type {
  DistributionRequest,
  TokenDistributions,
} from '../../../shared/policy/train/token-distributions.ts';
import type { RemoteModel, ServerSequence } from '../../../shared/tinker/training-server.ts';
import type { LogProbs } from '../learning-engine.ts';

/** A policy on a server that is read and not trained. What was read once is not asked again. */
export type RemotePolicy = {
  readonly score: (sequences: readonly PolicySequence[]) => Promise<LogProbs>;
  /** Keeps log-probs that another request has brought. */
  readonly remember: (sequences: readonly PolicySequence[], logProbs: LogProbs) => void;
};

/** @param ask the model that is the policy now; rejects if there is none any more */
export function remotePolicy(ask: () => Promise<Pick<RemoteModel, 'forward'>>): RemotePolicy {
  const known = new WeakMap<PolicySequence, Float32Array>();
  const remember: RemotePolicy['remember'] = (sequences, logProbs) =>
    sequences.forEach((sequence, index) => {
      if (!known.has(sequence)) known.set(sequence, logProbs[index]!);
    });
  return {
    remember,
    score: async (sequences) => {
      const asked = [...new Set(sequences)].filter((sequence) => !known.has(sequence));
      if (asked.length > 0) remember(asked, await (await ask()).forward(asked.map(toServer)));
      return sequences.map((sequence) => known.get(sequence)!);
    },
  };
}

export const toServer = ({ promptIds, responseIds }: PolicySequence): ServerSequence => ({
  promptIds,
  responseIds,
});

/**
 * Log-probs of a mixture of two policies, p^(1 - anchor) q^anchor, without its normalisation over the vocabulary, which
 * no server computes. They are too low by at most anchor * KL(p || q) on average, since -log of the normalisation is
 * anchor times the Renyi divergence of order 1 - anchor, which is at most the KL (van Erven and Harremoes 2014,
 * theorem 3).
 */
export const mixed = (own: ArrayLike<number>, base: ArrayLike<number>, anchor: number): Float32Array =>
  Float32Array.from(own, (logProb, t) => (1 - anchor) * logProb + anchor * base[t]!);

/** Below this, the tokens beside the likeliest ones have no measurable probability in f32. */
const LEAST_REST = 1e-7;

/** Log-prob of all other tokens together. */
export function restOf(logProbs: Iterable<number>): number {
  return Math.log(Math.max(LEAST_REST, 1 - sumOfExp(logProbs)));
}

type Readers = {
  readonly own: RemoteModel;
  /** undefined: not mixed with the base */
  readonly base: RemoteModel | undefined;
};

/**
 * The likeliest tokens of a policy at each position of the responses. With an anchor they are the policy's own, and the
 * mixture is normalised over them and the rest as one token.
 */
export async function remoteDistributions(
  readers: Readers,
  sequences: readonly PolicySequence[],
  { count, requested, anchor = 0 }: DistributionRequest,
): Promise<readonly TokenDistributions[]> {
  const likeliest = await readers.own.topTokens(sequences.map(toServer), count);
  const topIds = likeliest.map(({ ids }) => ids);
  const top = await mixedCandidates(readers, sequences, topIds, anchor);
  const others = requested && (await mixedCandidates(readers, sequences, requested, anchor));
  return sequences.map((_, n): TokenDistributions => {
    const { sampled, rows, rests } = top[n]!;
    const totals = rows.map((row, t) =>
      readers.base === undefined ? 0 : Math.log(sumOfExp([...row, rests[t]!])),
    );
    const less = (values: readonly (readonly number[])[]) =>
      Float32Array.from(values.flatMap((row, t) => row.map((value) => value - totals[t]!)));
    return {
      sampled: sampled.map((logProb, t) => logProb - totals[t]!),
      topIds: topIds[n]!,
      top: less(rows),
      rest: less(rests.map((rest) => [rest])),
      requested: less(others === undefined ? [] : others[n]!.rows),
    };
  });
}

type Mixed = {
  /** [T] */
  readonly sampled: Float32Array;
  /** of the candidates, [T][count] */
  readonly rows: readonly (readonly number[])[];
  /** of all other tokens together, [T] */
  readonly rests: readonly number[];
};

/** Log-probs of the sampled token and of candidates, not normalised if they are mixed with the base's. */
async function mixedCandidates(
  { own, base }: Readers,
  sequences: readonly PolicySequence[],
  ids: readonly Int32Array[],
  anchor: number,
): Promise<readonly Mixed[]> {
  const count = ids[0]!.length / sequences[0]!.responseIds.length;
  const asked = sequences.map(toServer);
  const scored = await own.forwardCandidates(asked, { count, ids });
  const under = base && (await base.forwardCandidates(asked, { count, ids }));
  const mix = (p: ArrayLike<number>, q: ArrayLike<number> | undefined) =>
    q === undefined ? Float32Array.from(p) : mixed(p, q, anchor);
  return sequences.map(({ responseIds }, n): Mixed => {
    const rowsOf = (all: Float32Array) => responseIds.map((_, t) => all.subarray(t * count, (t + 1) * count));
    const [mine, its] = [rowsOf(scored.candidates[n]!), under && rowsOf(under.candidates[n]!)];
    return {
      sampled: mix(scored.sampled[n]!, under?.sampled[n]),
      rows: mine.map((row, t) => [...mix(row, its?.[t])]),
      rests: mine.map((row, t) => mix([restOf(row)], its && [restOf(its[t]!)])[0]!),
    };
  });
}

const sumOfExp = (logProbs: Iterable<number>): number => {
  let sum = 0;
  for (const logProb of logProbs) sum += Math.exp(logProb);
  return sum;
};
