import { createHash } from 'node:crypto';
import { isServiceError } from '../../../shared/service/errors.ts';
import type { AnswerChunk, AskedSampling, Choice } from './engine.ts';
import type { JobListener } from './job.ts';
import type { SequenceRequest } from './protocol.ts';

/**
 * The seed of one choice: choice 0 has the request's own, and is the answer that a request for one gets. The
 * others' stand in their facts, and give the same answer to a request of their own.
 */
export function choiceSeed(seed: number, index: number): number {
  if (index === 0) return seed;
  return createHash('sha256').update(`${seed}/${index}`).digest().readUIntBE(0, 4);
}

const samplingOf = (sampling: AskedSampling, index: number): AskedSampling =>
  sampling.seed === undefined ? sampling : { ...sampling, seed: choiceSeed(sampling.seed, index) };

/** The same prompt for all of them. */
export const choiceRequests = (request: SequenceRequest, choices: number): readonly SequenceRequest[] =>
  Array.from({ length: choices }, (_, index) => ({
    ...request,
    sampling: samplingOf(request.sampling, index),
  }));

export type ChoicesListener = {
  readonly started: (version: number) => void;
  readonly chunk: (chunk: AnswerChunk, choice: number) => void;
  readonly generated: (choices: readonly Choice[]) => void;
  readonly failed: (error: unknown) => void;
  /** A choice failed, so the others are for nothing: they are to be ended. */
  readonly broken: () => void;
};

/** What a choice is told that was given up before it began. */
const isGivenUp = (error: unknown): boolean => isServiceError(error) && error.name === 'STOPPING';

/**
 * Makes one outcome of those of all choices, once each has its own: those that began, or the first failure
 * where one failed or none began.
 */
export function gatherChoices(count: number, listener: ChoicesListener): readonly JobListener[] {
  const choices: Choice[] = [];
  const givenUp: unknown[] = [];
  const failures: unknown[] = [];
  let hasStarted = false;
  const settle = (): void => {
    if (choices.length + givenUp.length + failures.length < count) return;
    if (failures.length > 0) listener.failed(failures[0]);
    else if (choices.length === 0) listener.failed(givenUp[0]);
    else listener.generated(choices.toSorted((one, other) => one.index - other.index));
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
      (isGivenUp(error) ? givenUp : failures).push(error);
      if (failures.length === 1 && !isGivenUp(error)) listener.broken();
      settle();
    },
  }));
}
