import { createHash, type Hash } from 'node:crypto';
import { z } from 'zod';
import { recordedTrainingSettings } from '../events/training-settings.ts';
import type { AdapterFile } from './adapter-files.ts';

/** AdamW's state between steps: moments by the adapter's tensor names. */
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
});
export type CheckpointState = z.output<typeof checkpointState>;

/** All that a later step, or a server, takes from a checkpoint. */
export type CheckpointContent = {
  readonly adapter: AdapterFile;
  readonly optimizer: OptimizerState;
  readonly state: CheckpointState;
};

/**
 * sha256 over adapter, optimizer and baseline: the numbers that the next step starts from. It is of the
 * values and not of the files, so that another writer of the same numbers gives the same digest.
 */
export function checkpointDigest({
  adapter,
  optimizer,
  baseline,
}: {
  readonly adapter: AdapterFile;
  readonly optimizer: OptimizerState;
  readonly baseline: CheckpointState['baseline'];
}): string {
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
  for (const [name, numbers] of [...values].sort(([a], [b]) => (a < b ? -1 : 1))) {
    hash.update(`\n${group}/${name}[${numbers.length}]`);
    hash.update(new Uint8Array(numbers.buffer, numbers.byteOffset, numbers.byteLength));
  }
}
