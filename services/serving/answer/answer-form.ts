import type { ServiceError } from '../../../shared/runtime/errors.ts';
import type { AnswerChunk, Started } from '../generation.ts';
import type { Frame } from '../http/event-stream.ts';
import type { AcceptedRequest, FinishedAnswer } from './answer.ts';

/** How an API presents an answer. */
export type AnswerForm = {
  readonly api: AcceptedRequest['api'];
  /** Called before generation starts. `replay`: the answer was given before and is sent again. */
  readonly show: (accepted: AcceptedRequest, replay?: 'replay') => AnswerView;
  /** The last events of a stream that fails. */
  readonly failure: (error: ServiceError, accepted: AcceptedRequest) => readonly Frame[];
  /** Whether clients expect this error in a stream, although nothing was sent yet. Absent: never. */
  readonly reportsInStream?: (error: ServiceError) => boolean;
  /** The last line of data of a complete stream; undefined: the API has none. */
  readonly endMark: string | undefined;
};

/** One answer, whole (`body`) or as the events of a stream. */
type AnswerView = {
  readonly body: (finished: FinishedAnswer) => object;
  readonly first: (started: Started) => readonly Frame[];
  /**
   * Events that say nothing new, for a stream that has nothing to send at the moment; before `first`, too. Absent, or
   * no events: the API has none for this moment.
   */
  readonly waiting?: () => readonly Frame[];
  readonly next: (chunk: AnswerChunk, choice: number) => readonly Frame[];
  /** Sent only when the events are durable or known to be lost. */
  readonly last: (finished: FinishedAnswer) => readonly Frame[];
};
