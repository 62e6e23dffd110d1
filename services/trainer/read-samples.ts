import type { BatchSubmitted } from '../../shared/events/batch-submitted.ts';
import type { SampleReady } from '../../shared/events/sample-ready.ts';
import { sampleDigest, samplesDigest } from '../../shared/lineage/batch-digest.ts';
import { isLogError } from '../../shared/log/errors.ts';
import type { EventLog } from '../../shared/log/event-log.ts';
import { isServiceError } from '../../shared/runtime/errors.ts';
import { TrainerError } from './errors.ts';

/**
 * Reads the samples of a batch, in its order, by their positions in the log.
 * @throws RecordGone, BrokenRecord, SAMPLE_MISMATCH, SAMPLE_ERASED; LogUnavailable
 */
export async function readSamples(
  log: Pick<EventLog, 'read'>,
  { batchId, samples }: Pick<BatchSubmitted['data'], 'batchId' | 'samples'>,
): Promise<readonly SampleReady['data'][]> {
  const read: SampleReady['data'][] = [];
  for (const sample of samples) read.push(await readSample(log, batchId, sample));
  return read;
}

/**
 * Reads the samples of earlier batches that the gate uses again, without those that are gone. @throws
 * LogUnavailable
 */
export async function readEarlier(
  log: Pick<EventLog, 'read'>,
  { batchId, earlier = [] }: Pick<BatchSubmitted['data'], 'batchId' | 'earlier'>,
): Promise<readonly SampleReady['data'][]> {
  const read: SampleReady['data'][] = [];
  for (const sample of earlier)
    try {
      read.push(await readSample(log, batchId, sample));
    } catch (error) {
      if (!isGoneForGood(error)) throw error;
    }
  return read;
}

async function readSample(
  log: Pick<EventLog, 'read'>,
  batch: string,
  { sampleId, at }: BatchSubmitted['data']['samples'][number],
): Promise<SampleReady['data']> {
  const event = await log.read('training', at);
  if (event.erased !== undefined) throw TrainerError.SAMPLE_ERASED({ sample: sampleId, at: event.erased });
  if (event.type === 'sample.ready' && event.data.sampleId === sampleId) return event.data;
  const position = `${at.partition}/${at.offset}`;
  throw TrainerError.SAMPLE_MISMATCH({ batch, sample: sampleId, position, found: event.id });
}

/** Digest of the samples of a batch, in its order. */
export const digestOf = (samples: readonly SampleReady['data'][]): string =>
  samplesDigest(samples.map(sampleDigest));

/** Whether samples that could not be read are gone for good, in contrast to an unavailable log. */
export const isGoneForGood = (error: unknown): boolean =>
  isLogError(error, 'RecordGone') ||
  isLogError(error, 'BrokenRecord') ||
  (isServiceError(error) && (error.name === 'SAMPLE_MISMATCH' || error.name === 'SAMPLE_ERASED'));
