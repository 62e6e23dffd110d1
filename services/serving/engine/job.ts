import type { AnswerChunk, Generated } from './engine.ts';
import type { SequenceRequest } from './protocol.ts';
import type { Sequence } from './sequence.ts';
import type { LoadedVersion } from './versions.ts';

/** What the scheduler tells of one request. */
export type JobListener = {
  readonly started: (version: number) => void;
  readonly chunk: (chunk: AnswerChunk) => void;
  readonly generated: (generated: Generated) => void;
  readonly failed: (error: unknown) => void;
};

/** One answer that is wanted, and who is told of it. */
export type AskedJob = { readonly request: SequenceRequest; readonly listener: JobListener };

/** A choice of a request on its way through the engine: it waits, its prompt is read, it runs. */
export type Job = {
  /** Grows from choice to choice and from request to request: the larger one is the younger. */
  readonly id: number;
  /** The request; its choices have it in common. */
  readonly call: number;
  readonly request: SequenceRequest;
  readonly listener: JobListener;
  /** Held since it is known; undefined: the live one, whichever it is when the prompt is begun. */
  readonly version: LoadedVersion | undefined;
  /** Undefined until its first token. */
  readonly answer: Answer | undefined;
};

/** An answer that has begun. It outlives its place, so that it can go on in another one. */
export type Answer = {
  readonly sequence: Sequence;
  /** What was sampled, except the end: it follows the prompt. */
  readonly ids: number[];
};

/** A job that has a place. */
export type PlacedJob = Job & { readonly version: LoadedVersion; readonly slot: number };
export type RunningJob = PlacedJob & { readonly answer: Answer };

/** All that the policy reads before the job's next token. */
export const idsOf = ({ request, answer }: Job): readonly number[] =>
  answer === undefined ? request.prompt.promptIds : [...request.prompt.promptIds, ...answer.ids];
