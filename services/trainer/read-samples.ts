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
  for (const sample of samples) found.push(await readSample(log, batchId, sample));
  return found;
}

/** Those of earlier batches that the gate asks again: what is gone is not asked. @throws LogUnavailable */
export async function readEarlier(
  log: Pick<EventLog, 'read'>,
  { batchId, earlier = [] }: Pick<BatchSubmitted['data'], 'batchId' | 'earlier'>,
): Promise<readonly SampleReady['data'][]> {
  const found: SampleReady['data'][] = [];
  for (const sample of earlier)
    try {
      found.push(await readSample(log, batchId, sample));
    } catch (error) {
      if (!areGone(error)) throw error;
    }
  return found;
}

async function readSample(
  log: Pick<EventLog, 'read'>,
  batch: string,
  { sampleId, at }: BatchSubmitted['data']['samples'][number],
): Promise<SampleReady['data']> {
  const event = await log.read('training', at);
  if (event.type === 'sample.ready' && event.data.sampleId === sampleId) return event.data;
  const position = `${at.partition}/${at.offset}`;
  throw TrainerError.SAMPLE_MISMATCH({ batch, sample: sampleId, position, found: event.id });
}

/** Of the samples of a batch, in its order. */
export const digestOf = (samples: readonly SampleReady['data'][]): string =>
  samplesDigest(samples.map(sampleDigest));

/** Whether samples that could not be read are gone for good; a log that is away comes back. */
export const areGone = (error: unknown): boolean =>
  isLogError(error, 'RecordGone') ||
  isLogError(error, 'BrokenRecord') ||
  (isServiceError(error) && error.name === 'SAMPLE_MISMATCH');
