import { createHash, type Hash } from 'node:crypto';
import { z } from 'zod';
import { recordedTrainingSettings } from '../events/training-settings.ts';
import type { AdapterFile } from './adapter-files.ts';
import type { TrainedWeights } from './full-weights.ts';

/** AdamW's state between steps: moments by the names of what is trained. */
export type OptimizerState = {
  /** steps taken */
  readonly step: number;
  readonly first: ReadonlyMap<string, Float32Array>;
  readonly second: ReadonlyMap<string, Float32Array>;
};

/** What the gate of promotion said. A candidate that is not finite has no checkpoint. */
export const gateResult = z.discriminatedUnion('passed', [
  z.object({ passed: z.literal(true) }),
  z.object({ passed: z.literal(false), reason: z.literal('kl-to-parent'), detail: z.string() }),
]);
export type GateResult = z.output<typeof gateResult>;

/** `state.json` of a checkpoint. */
export const checkpointState = z.object({
  format: z.literal(1),
  version: z.int().min(1).describe('the number of its batch'),
  parent: z.int().min(0),
  batchId: z.string(),
  adapter: z.string(),
  logId: z.string().describe('the log whose facts it was trained from'),
  model: z.string().describe('name of the base model, for people'),
  baseDigest: z.string().describe('of the base model, see modelDigest'),
  settings: recordedTrainingSettings,
  seed: z.int(),
  samples: z.int(),
  baseline: z.object({ value: z.number(), count: z.int() }),
  optimizerStep: z.int(),
  gate: gateResult,
  metrics: z.record(z.string(), z.number()),
  fingerprint: z.string().describe('of the runtime that made it'),
  milliseconds: z.number(),
  digest: z.string().describe('see checkpointDigest'),
  parts: z
    .object({ weights: z.string(), moments: z.string() })
    .optional()
    .describe(
      'full: digests that `digest` is made of, so that a server checks the weights without the moments',
    ),
});
export type CheckpointState = z.output<typeof checkpointState>;
type Parts = NonNullable<CheckpointState['parts']>;

/** All that a later step, or a server, takes from a checkpoint. */
export type CheckpointContent = {
  readonly adapter: TrainedWeights;
  readonly optimizer: OptimizerState;
  readonly state: CheckpointState;
};

/**
 * sha256 over adapter, optimizer and baseline: the numbers that the next step starts from. It is of the
 * values and not of the files, so that another writer of the same numbers gives the same digest.
 */
export const checkpointDigest = (numbers: Numbers): string => sealNumbers(numbers).digest;

type Numbers = Pick<CheckpointContent, 'adapter' | 'optimizer'> & Pick<CheckpointState, 'baseline'>;

/** The digest, and for full weights what it is made of: as they stand in `state.json`. */
export function sealNumbers(numbers: Numbers): Pick<CheckpointState, 'digest' | 'parts'> {
  const { adapter, optimizer, baseline } = numbers;
  if (adapter.kind === 'lora') return { digest: adapterDigest(adapter, optimizer, baseline) };
  const weights = createHash('sha256');
  for (const [name, { values }] of inOrder(adapter.tensors)) addTensor(weights, name, values);
  const moments = createHash('sha256');
  addValues(moments, 'first', optimizer.first);
  addValues(moments, 'second', optimizer.second);
  const parts = { weights: weights.digest('hex'), moments: moments.digest('hex') };
  return { digest: fullDigest(parts, optimizer.step, baseline), parts };
}

/** The digest of a version that is all weights, out of those of its parts. */
export const fullDigest = (
  { weights, moments }: Parts,
  step: number,
  { value, count }: CheckpointState['baseline'],
): string =>
  createHash('sha256')
    .update(JSON.stringify({ training: 'full', step, value, count, weights, moments }))
    .digest('hex');

/** Adds one tensor to a digest of weights; they come in the order of their names. */
export function addTensor(hash: Hash, name: string, values: Float32Array): void {
  hash.update(`\n${name}[${values.length}]`);
  hash.update(new Uint8Array(values.buffer, values.byteOffset, values.byteLength));
}

function adapterDigest(
  adapter: AdapterFile,
  optimizer: OptimizerState,
  baseline: CheckpointState['baseline'],
): string {
  const hash = createHash('sha256');
  const { rank, alpha, targets } = adapter.config;
  hash.update(JSON.stringify({ rank, alpha, targets: [...targets].sort(), step: optimizer.step }));
  hash.update(JSON.stringify({ value: baseline.value, count: baseline.count }));
  addValues(hash, 'adapter', new Map([...adapter.tensors].map(([name, { values }]) => [name, values])));
  addValues(hash, 'first', optimizer.first);
  addValues(hash, 'second', optimizer.second);
  return hash.digest('hex');
}

function addValues(hash: Hash, group: string, values: ReadonlyMap<string, Float32Array>): void {
  for (const [name, numbers] of inOrder(values)) addTensor(hash, `${group}/${name}`, numbers);
}

const inOrder = <Value>(named: ReadonlyMap<string, Value>): readonly (readonly [string, Value])[] =>
  [...named].sort(([a], [b]) => (a < b ? -1 : 1));
