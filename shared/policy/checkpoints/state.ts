import { createHash, type Hash } from 'node:crypto';
import { z } from 'zod';
import { gateReason } from '../../events/policy-rejected.ts';
import { leftOut } from '../../events/policy-trained.ts';
import { recordedTrainingSettings } from '../../events/training-settings.ts';
import { defined } from '../../lang/defined.ts';
import { atOnce } from '../model/pieces.ts';
import type { TrainedWeights } from './full-weights.ts';

/** AdamW's state between steps: moments by tensor name. */
export type LocalOptimizer = {
  readonly kind?: 'local';
  /** steps taken */
  readonly step: number;
  readonly first: ReadonlyMap<string, Float32Array>;
  readonly second: ReadonlyMap<string, Float32Array>;
};

/** A state that a training server keeps. */
const remoteState = z.object({
  kind: z.literal('remote'),
  dialect: z.string().describe('of the server, see shared/tinker'),
  url: z.string().describe('of the server that has it'),
  path: z.string().describe('of weights and moments on that server'),
  probe: z
    .object({
      promptIds: z.array(z.int()),
      responseIds: z.array(z.int()),
      logProbs: z.array(z.number()).describe('of the response under the version, nats'),
    })
    .describe('by which a later step recognises the state'),
});

/** AdamW's state on a training server, which does not give its moments away. */
type RemoteOptimizer = z.output<typeof remoteState> & {
  /** steps taken */
  readonly step: number;
};

export type OptimizerState = LocalOptimizer | RemoteOptimizer;

/** The result of the gate. A candidate with values that are not finite has no checkpoint. */
const gateResult = z.discriminatedUnion('passed', [
  z.object({
    passed: z.literal(true),
    answersChecked: z
      .literal(false)
      .optional()
      .describe('the settings ask for it, but answers cannot be sampled where the step was trained'),
  }),
  z.object({
    passed: z.literal(false),
    reason: gateReason,
    detail: z.string(),
    figures: z.record(z.string(), z.number()).optional().describe('what was measured, and the limits'),
  }),
]);
export type GateResult = z.output<typeof gateResult>;

const baseline = z.object({ value: z.number(), count: z.int() });

/** `state.json` of a checkpoint. */
export const checkpointState = z.object({
  format: z.literal(1),
  version: z.int().min(1).describe('the number of its batch'),
  parent: z.int().min(0),
  batchId: z.string(),
  batchDigest: z
    .string()
    .optional()
    .describe('of the batch that it was trained from; absent: made by an earlier version'),
  samplesDigest: z
    .string()
    .optional()
    .describe('of the samples of that batch, in its order; absent as above'),
  adapter: z.string(),
  logId: z.string().describe('the log whose facts it was trained from'),
  model: z.string().describe('name of the base model, for people'),
  baseDigest: z.string().describe('of the base model, see modelDigest'),
  settings: recordedTrainingSettings,
  seed: z.int(),
  samples: z.int(),
  baseline: baseline.extend({
    tool: baseline.optional().describe('of verdicts on calls of tools; absent: none came yet'),
    reward: baseline.optional().describe('of returns of rewarded sessions; absent: none came yet'),
  }),
  optimizerStep: z.int(),
  optimizer: remoteState
    .optional()
    .describe("where the moments are, if a training server has them; absent: in the checkpoint's own file"),
  leftOut: z.array(leftOut).optional().describe('samples that were not trained; absent: none'),
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
/** A committed checkpoint without its tensors. */
export type CheckpointSummary = { readonly name: string; readonly state: CheckpointState };
type Parts = NonNullable<CheckpointState['parts']>;

/** The parts of a checkpoint that a later step or a server uses. */
export type CheckpointContent = {
  readonly adapter: TrainedWeights;
  readonly optimizer: OptimizerState;
  readonly state: CheckpointState;
};

/**
 * sha256 over adapter, optimizer and baseline: the numbers that the next step starts from. It covers the values and
 * not the files, so that every writer of the same numbers gets the same digest.
 */
export const checkpointDigest = (numbers: Numbers): string => sealNumbers(numbers).digest;

type Numbers = Pick<CheckpointContent, 'adapter' | 'optimizer'> & Pick<CheckpointState, 'baseline'>;

/** The digest and, for full weights, its parts, as stored in `state.json`. */
type Seal = Pick<CheckpointState, 'digest' | 'parts'>;

export const sealNumbers = (numbers: Numbers): Seal => atOnce(sealing(numbers));

/** Computes the seal with pauses; a large model takes some seconds. */
export function* sealing({ adapter, optimizer, baseline }: Numbers): Generator<undefined, Seal> {
  const hash = createHash('sha256');
  const values = new Map([...adapter.tensors].map(([name, tensor]) => [name, tensor.values]));
  if (adapter.kind === 'lora') {
    const { rank, alpha, targets } = adapter.config;
    hash.update(JSON.stringify({ rank, alpha, targets: [...targets].sort(), step: optimizer.step }));
    hash.update(JSON.stringify(numbersOf(baseline)));
    yield* addTensors(hash, 'adapter/', values);
    yield* addMoments(hash, optimizer);
    return { digest: hash.digest('hex') };
  }
  yield* addTensors(hash, '', values);
  const moments = createHash('sha256');
  yield* addMoments(moments, optimizer);
  const parts = { weights: hash.digest('hex'), moments: moments.digest('hex') };
  return { digest: fullDigest(parts, optimizer.step, baseline), parts };
}

/** The digest of a version with full weights, from the digests of its parts. */
export const fullDigest = (
  { weights, moments }: Parts,
  step: number,
  baseline: CheckpointState['baseline'],
): string =>
  createHash('sha256')
    .update(JSON.stringify({ training: 'full', step, ...numbersOf(baseline), weights, moments }))
    .digest('hex');

/** The members are in a fixed order. Without `tool` and `reward` the JSON equals that of earlier versions. */
function numbersOf({ value, count, tool, reward }: CheckpointState['baseline']) {
  const mean = ({ value, count }: { readonly value: number; readonly count: number }) => [value, count];
  return {
    value,
    count,
    ...defined({
      tool: tool === undefined ? undefined : mean(tool),
      reward: reward === undefined ? undefined : mean(reward),
    }),
  };
}

/** Bytes that are hashed at a time, about 5 ms. */
const PIECE = 8 * 2 ** 20;

/** Adds one tensor to a digest of weights; pauses after every piece. Call it for all tensors, ordered by name. */
export function* tensorIntoDigest(hash: Hash, name: string, values: Float32Array): Generator<undefined> {
  hash.update(`\n${name}[${values.length}]`);
  for (let at = 0; at < values.byteLength; at += PIECE) {
    const bytes = Math.min(PIECE, values.byteLength - at);
    hash.update(new Uint8Array(values.buffer, values.byteOffset + at, bytes));
    yield;
  }
}

/** Moments on a server cannot be read. */
function* addMoments(hash: Hash, optimizer: OptimizerState): Generator<undefined> {
  if (optimizer.kind === 'remote') return;
  const { first, second } = optimizer;
  yield* addTensors(hash, 'first/', first);
  yield* addTensors(hash, 'second/', second);
}

function* addTensors(
  hash: Hash,
  prefix: string,
  tensors: ReadonlyMap<string, Float32Array>,
): Generator<undefined> {
  for (const [name, values] of [...tensors].sort(([a], [b]) => (a < b ? -1 : 1)))
    yield* tensorIntoDigest(hash, prefix + name, values);
}
