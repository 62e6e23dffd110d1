import { hash } from 'node:crypto';
import type { BatchSubmitted } from '../events/batch-submitted.ts';
import type { SampleReady } from '../events/sample-ready.ts';
import { recordedTrainingSettings } from '../events/training-settings.ts';
import { stableJson } from '../log/stable-json.ts';

type Batch = BatchSubmitted['data'];

/** Values of the settings that a batch does not name. */
const defaults: Readonly<Record<string, unknown>> = Object.fromEntries(
  Object.entries(recordedTrainingSettings.shape).flatMap(([name, schema]) => {
    const { data } = schema.safeParse(undefined);
    return data === undefined ? [] : [[name, data]];
  }),
);

/**
 * sha256 over all data of a `batch.submitted`. A batch that omits a setting has the same digest as one that
 * names the default, so a later version with more settings computes the same digest.
 */
export function batchDigest({ settings, ...batch }: Batch): string {
  const named = Object.entries(settings ?? {}).filter(([name, value]) => defaults[name] !== value);
  return sha256(stableJson({ ...batch, settings: Object.fromEntries(named) }));
}

/** sha256 over one sample, including its tokens, log-probs and verdict. */
export const sampleDigest = (sample: SampleReady['data']): string => sha256(stableJson(sample));

/** sha256 over the samples of a batch, in its order, given the digest of each. */
export const samplesDigest = (digests: readonly string[]): string => sha256(digests.join('\n'));

const sha256 = (text: string): string => hash('sha256', text);
