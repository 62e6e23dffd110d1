import type { AnswerChunk, Generated } from '../../generation.ts';
import type { SequenceRequest } from '../sequence-text.ts';
import type { Sequence } from './sequence.ts';
import type { LoadedVersion } from './versions.ts';

/** Receives the progress of one choice. */
export type JobListener = {
  readonly started: (version: number) => void;
  readonly chunk: (chunk: AnswerChunk) => void;
  readonly generated: (generated: Generated) => void;
  readonly failed: (error: unknown) => void;
};

/** A requested answer and its listener. */
export type NewJob = { readonly request: SequenceRequest; readonly listener: JobListener };

/** A choice of a request in the engine: it waits, its prompt is read, it runs. */
export type Job = {
  /** Ascending over choices and requests: a larger id is younger. */
  readonly id: number;
  /** The request; all its choices share it. */
  readonly call: number;
  readonly request: SequenceRequest;
  readonly listener: JobListener;
  /** Retained; undefined: the version that is live when the prompt begins. */
  readonly version: LoadedVersion | undefined;
  /** Undefined until its first token. */
  readonly answer: Answer | undefined;
};

/** An answer that has begun. It survives the loss of its slot, and can continue in another. */
type Answer = {
  readonly sequence: Sequence;
  /** The sampled tokens except the end token; they follow the prompt. */
  readonly ids: number[];
};

/** A job with a slot in a decoder. */
export type PlacedJob = Job & { readonly version: LoadedVersion; readonly slot: number };
export type RunningJob = PlacedJob & { readonly answer: Answer };

/** All tokens before the job's next token. */
export const idsOf = ({ request, answer }: Job): readonly number[] =>
  answer === undefined ? request.prompt.promptIds : [...request.prompt.promptIds, ...answer.ids];
