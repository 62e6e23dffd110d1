import { compiled } from '../executors/compiled.ts';
import type { Tensor } from '../executors/executor.ts';
import { logitsOf, residualStream, sequenceContext } from '../model/model.ts';
import { type Adapter, networkOf, type Policy } from '../model/policy.ts';
import { logProbsOf } from '../ops/cross-entropy.ts';
import { gatherRows } from '../ops/embedding.ts';
import { excluded, uploadExclusion } from '../ops/restriction.ts';
import { type Microbatch, microbatchesOn, type PolicySequence, perMember } from './batching.ts';

export type { PolicySequence } from './batching.ts';

/** Floats of logits computed at a time: 128 MB. */
const maxLogits = 32 * 1024 * 1024;

/**
 * Calls `visit` with the logits [rows, vocabulary] of consecutive response rows; start: index of the first.
 * Tokens that a row does not allow have probability 0.
 */
const eachLogits = (
  policy: Policy,
  adapter: Adapter | undefined,
  microbatch: Microbatch,
  visit: (logits: Tensor, start: number, rows: number) => void,
): void =>
  eachLogitsOf(policy, [adapter], microbatch, ([logits], start, rows) => visit(logits!, start, rows));

/** Like `eachLogits`, with the logits of several versions for the same rows, in the order of `adapters`. */
export function eachLogitsOf(
  policy: Policy,
  adapters: readonly (Adapter | undefined)[],
  microbatch: Microbatch,
  visit: (logits: readonly Tensor[], start: number, rows: number) => void,
): void {
  const { executor } = policy;
  const { batch, positions, ids, rows, allowed } = microbatch;
  executor.scope(() => {
    const streams = adapters.map((adapter) => {
      const { model, network } = networkOf(policy, adapter);
      const context = sequenceContext(executor, model, { batch, positions, backward: false });
      const x = compiled(
        executor,
        { name: 'scoring', sizes: 'varying' },
        { network, ids, context },
        (on, input) => residualStream(on, input.network, input),
      );
      return { network, x };
    });
    const chunk = Math.max(1, Math.floor(maxLogits / policy.config.vocabularySize / adapters.length));
    for (let start = 0; start < rows.length; start += chunk) {
      const part = rows.subarray(start, start + chunk);
      executor.scope(() => {
        const allowedRows = allowed?.slice(start, start + part.length);
        const exclusion = uploadExclusion(executor, allowedRows, policy.config.vocabularySize);
        const logits = streams.map(({ network, x }) =>
          excluded(executor, logitsOf(executor, network, gatherRows(executor, x, part)), exclusion),
        );
        visit(logits, start, part.length);
      });
    }
  });
}

/**
 * log p of every response token given the tokens before it, at each sequence's temperature, in nats: one array
 * per sequence, empty for an empty response. One full forward pass without a cache.
 */
export function scoreResponses(
  policy: Policy,
  adapter: Adapter | undefined,
  sequences: readonly PolicySequence[],
): readonly Float32Array[] {
  const result: Float32Array[] = sequences.map(() => new Float32Array(0));
  for (const microbatch of microbatchesOn(policy.executor, sequences)) {
    const all = new Float32Array(microbatch.rows.length);
    eachLogits(policy, adapter, microbatch, (logits, start, rows) => {
      const end = start + rows;
      const targets = microbatch.targets.slice(start, end);
      const { logProbs } = logProbsOf(
        policy.executor,
        logits,
        targets,
        microbatch.temperatures.slice(start, end),
      );
      all.set(logProbs, start);
    });
    for (const [index, values] of perMember(microbatch, sequences, all)) result[index] = values;
  }
  return result;
}

/** KL(b || a) between two rows of logits at a temperature, in nats. In f64. Excluded tokens add exactly 0. */
function rowKl(a: Float32Array, b: Float32Array, temperature: number): number {
  const normalizer = (row: Float32Array): number => {
    let max = -Infinity;
    for (const logit of row) if (logit > max) max = logit;
    let sum = 0;
    for (const logit of row) sum += Math.exp((logit - max) / temperature);
    return max / temperature + Math.log(sum);
  };
  const [za, zb] = [normalizer(a), normalizer(b)];
  let kl = 0;
  for (let i = 0; i < a.length; i++) {
    const logB = b[i]! / temperature - zb;
    kl += Math.exp(logB) * (logB - (a[i]! / temperature - za));
  }
  return kl;
}

/**
 * How far policy b is from policy a: the mean over all response positions of KL(b || a) in nats, at each sequence's
 * temperature. It covers the whole vocabulary, or the allowed tokens where a guard restricts the position: no other
 * token can be sampled there. NaN if there is no response position.
 */
export function meanPolicyKl(
  policy: Policy,
  adapterA: Adapter | undefined,
  adapterB: Adapter | undefined,
  sequences: readonly PolicySequence[],
): number {
  const width = policy.config.vocabularySize;
  let sum = 0;
  let count = 0;
  for (const microbatch of microbatchesOn(policy.executor, sequences)) {
    const first: Float32Array[] = [];
    eachLogits(policy, adapterA, microbatch, (logits) => void first.push(policy.executor.read(logits)));
    eachLogits(policy, adapterB, microbatch, (logits, start, rows) => {
      const [a, b] = [first.shift()!, policy.executor.read(logits)];
      for (let row = 0; row < rows; row++) {
        const [from, to] = [row * width, (row + 1) * width];
        sum += rowKl(a.subarray(from, to), b.subarray(from, to), microbatch.temperatures[start + row]!);
      }
      count += rows;
    });
  }
  return sum / count;
}
