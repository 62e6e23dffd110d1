import type { BatchSubmitted } from '../../shared/events/batch-submitted.ts';
import type { SampleReady } from '../../shared/events/sample-ready.ts';
import { sampleDigest, samplesDigest } from '../../shared/lineage/batch-digest.ts';
import { isLogError } from '../../shared/log/errors.ts';
import type { EventLog } from '../../shared/log/event-log.ts';
import { isServiceError } from '../../shared/service/errors.ts';
import { TrainerError } from './errors.ts';

/**
 * The samples of a batch, in its order, by their positions in the log.
 * @throws RecordGone, BrokenRecord, SAMPLE_MISMATCH; LogUnavailable
 */
export async function readSamples(
  log: Pick<EventLog, 'read'>,
  { batchId, samples }: Pick<BatchSubmitted['data'], 'batchId' | 'samples'>,
): Promise<readonly SampleReady['data'][]> {
  const found: SampleReady['data'][] = [];
  for (const { sampleId, at } of samples) {
    const event = await log.read('training', at);
    if (event.type !== 'sample.ready' || event.data.sampleId !== sampleId) {
      const position = `${at.partition}/${at.offset}`;
      throw TrainerError.SAMPLE_MISMATCH({ batch: batchId, sample: sampleId, position, found: event.id });
    }
    found.push(event.data);
  }
  return found;
}

/** Of the samples of a batch, in its order. */
export const digestOf = (samples: readonly SampleReady['data'][]): string =>
  samplesDigest(samples.map(sampleDigest));

/** Whether samples that could not be read are gone for good; a log that is away comes back. */
export const areGone = (error: unknown): boolean =>
  isLogError(error, 'RecordGone') ||
  isLogError(error, 'BrokenRecord') ||
  (isServiceError(error) && error.name === 'SAMPLE_MISMATCH');
