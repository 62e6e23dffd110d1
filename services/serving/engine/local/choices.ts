import { createHash } from 'node:crypto';
import { isServiceError } from '../../../../shared/runtime/errors.ts';
import type { AnswerChunk, Choice, RequestedSampling } from '../../generation.ts';
import type { SequenceRequest } from '../sequence-text.ts';
import type { JobListener } from './job.ts';

/**
 * The seed of one choice. Choice 0 has the seed of the request, so it equals the answer to a request for one
 * choice. The other seeds are recorded in their events, and reproduce their answers in separate requests.
 */
export function choiceSeed(seed: number, index: number): number {
  if (index === 0) return seed;
  return createHash('sha256').update(`${seed}/${index}`).digest().readUIntBE(0, 4);
}

const samplingOf = (sampling: RequestedSampling, index: number): RequestedSampling =>
  sampling.seed === undefined ? sampling : { ...sampling, seed: choiceSeed(sampling.seed, index) };

/** One request per choice, all with the same prompt. */
export const choiceRequests = (request: SequenceRequest, choices: number): readonly SequenceRequest[] =>
  Array.from({ length: choices }, (_, index) => ({
    ...request,
    sampling: samplingOf(request.sampling, index),
  }));

type ChoicesListener = {
  readonly started: (version: number) => void;
  readonly chunk: (chunk: AnswerChunk, choice: number) => void;
  readonly generated: (choices: readonly Choice[]) => void;
  readonly failed: (error: unknown) => void;
  /** A choice failed, so the others should be aborted. */
  readonly broken: () => void;
};

/** The error of a choice that was aborted before it began. */
const isAborted = (error: unknown): boolean => isServiceError(error) && error.name === 'STOPPING';

/**
 * Combines the outcomes of all choices, once each has ended: the choices that began, or the first failure if
 * one failed or none began.
 */
export function gatherChoices(count: number, listener: ChoicesListener): readonly JobListener[] {
  const choices: Choice[] = [];
  const aborted: unknown[] = [];
  const failures: unknown[] = [];
  let hasStarted = false;
  const settle = (): void => {
    if (choices.length + aborted.length + failures.length < count) return;
    if (failures.length > 0) listener.failed(failures[0]);
    else if (choices.length === 0) listener.failed(aborted[0]);
    else listener.generated(choices.toSorted((a, b) => a.index - b.index));
  };
  return Array.from({ length: count }, (_, index) => ({
    started: (version) => {
      if (!hasStarted) listener.started(version);
      hasStarted = true;
    },
    chunk: (chunk) => listener.chunk(chunk, index),
    generated: (generated) => {
      choices.push({ index, generated });
      settle();
    },
    failed: (error) => {
      (isAborted(error) ? aborted : failures).push(error);
      if (failures.length === 1 && !isAborted(error)) listener.broken();
      settle();
    },
  }));
}
