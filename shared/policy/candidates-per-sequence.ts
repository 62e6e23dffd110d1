import { type Microbatch, type PolicySequence, perMember } from './batching.ts';
import type { CandidateLogProbs, Candidates } from './ops/candidates.ts';

/** Tokens of each response position whose log-probs are wanted, beside the token that was sampled. */
export type CandidatesPerSequence = {
  /** per position */
  readonly count: number;
  /** whether all other tokens together are wanted too */
  readonly rest: boolean;
  /** of each sequence, [T * count]; those of a position all differ; undefined: the sequence has none */
  readonly ids: readonly (Int32Array | undefined)[];
};

/** A microbatch's share. A sequence that has none gets the first tokens, whose slopes are 0. */
export function candidatesOfRows(
  { members, rows }: Microbatch,
  sequences: readonly PolicySequence[],
  { count, rest, ids }: CandidatesPerSequence,
): Candidates {
  const all = new Int32Array(rows.length * count);
  let at = 0;
  for (const index of members) {
    const length = sequences[index]!.responseIds.length * count;
    const own = ids[index] ?? Int32Array.from({ length }, (_, i) => i % count);
    if (own.length !== length)
      throw new Error(`${length} candidates are needed for a sequence that has ${own.length}`);
    all.set(own, at);
    at += length;
  }
  return { count, ids: all, rest };
}

/** Log-probs of a microbatch's candidates as those of each sequence that has some. */
export function candidatesPerMember(
  microbatch: Microbatch,
  sequences: readonly PolicySequence[],
  candidates: CandidatesPerSequence | undefined,
  made: CandidateLogProbs | undefined,
): (CandidateLogProbs | undefined)[] {
  const result: (CandidateLogProbs | undefined)[] = sequences.map(() => undefined);
  if (candidates === undefined || made === undefined) return result;
  const { count, rest, ids } = candidates;
  const rests = rest ? perMember(microbatch, sequences, made.rest) : [];
  perMember(microbatch, sequences, made.logProbs, count).forEach(([index, logProbs], member) => {
    if (ids[index] === undefined) return;
    result[index] = { logProbs, rest: rests[member]?.[1] ?? new Float32Array(0) };
  });
  return result;
}
