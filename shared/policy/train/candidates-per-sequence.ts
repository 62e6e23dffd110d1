import type { CandidateLogProbs, Candidates } from '../ops/candidates.ts';
import { type Microbatch, type PolicySequence, perMember } from './batching.ts';

/** Tokens of each response position, besides the sampled one, whose log-probs the loss gets. */
export type CandidatesPerSequence = {
  /** per position */
  readonly count: number;
  /** whether the loss also gets the log-prob of all other tokens together */
  readonly rest: boolean;
  /** of each sequence, [T * count]; those of a position all differ; undefined: the sequence has none */
  readonly ids: readonly (Int32Array | undefined)[];
};

/** The candidates of a microbatch. A sequence without candidates gets the first tokens, with slopes of 0. */
export function candidatesOfRows(
  { members, rows }: Microbatch,
  sequences: readonly PolicySequence[],
  { count, rest, ids }: CandidatesPerSequence,
): Candidates {
  const all = new Int32Array(rows.length * count);
  let at = 0;
  for (const index of members) {
    const length = sequences[index]!.responseIds.length * count;
    const ofSequence = ids[index] ?? Int32Array.from({ length }, (_, i) => i % count);
    if (ofSequence.length !== length)
      throw new Error(`a sequence has ${ofSequence.length} candidates, but needs ${length}`);
    all.set(ofSequence, at);
    at += length;
  }
  return { count, ids: all, rest };
}

/** Log-probs of a microbatch's candidates, by sequence; undefined for sequences without candidates. */
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
