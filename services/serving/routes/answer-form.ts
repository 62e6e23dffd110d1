import type { ServiceError } from '../../../shared/service/errors.ts';
import type { AskedChat } from '../chat/answer.ts';
import type { Finished } from '../chat/completion.ts';
import type { AnswerChunk, Started } from '../engine/engine.ts';
import type { Frame } from './event-stream.ts';

/** How an API shows an answer. All of them ask, record and bound it alike. */
export type AnswerForm = {
  readonly api: AskedChat['api'];
  /** Made when the answer is asked for. `again`: it was given before, and is told once more. */
  readonly show: (asked: AskedChat, again?: 'again') => ShownAnswer;
  /** What a stream ends with that breaks off. */
  readonly failure: (error: ServiceError, asked: AskedChat) => Frame;
  /** The last line of data of a stream that came to its end; undefined: there is none. */
  readonly endMark: string | undefined;
};

/** One answer, whole (`body`) or as the events of a stream. */
export type ShownAnswer = {
  readonly body: (finished: Finished) => object;
  readonly first: (started: Started) => readonly Frame[];
  readonly next: (chunk: AnswerChunk, choice: number) => readonly Frame[];
  /** Go out only when the facts are durable, or are known to be lost. */
  readonly last: (finished: Finished) => readonly Frame[];
};
