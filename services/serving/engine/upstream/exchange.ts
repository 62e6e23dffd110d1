import type { JsonText } from '../../../../shared/chat/json-text.ts';
import type { AnswerChunk, Choice, GenerationRequest, PromptParts } from '../../generation.ts';
import type { ModelLease } from './models.ts';
import type { UpstreamRefusal } from './refusal.ts';

/** A chunk of an answer and the index of its choice. */
export type ChoiceChunk = { readonly chunk: AnswerChunk; readonly choice: number };

/** One request in the form of its engine, and the reading of its answer. */
type UpstreamExchange = {
  readonly address: string;
  readonly body: JsonText;
  /** Known after the first event; undefined if the engine reports it only at the end. */
  readonly promptTokens: () => number | undefined;
  /** The refusal that the first event is, if it is one. */
  readonly refusal: (data: string) => UpstreamRefusal | undefined;
  /** Reads the next event of the stream. @throws ServingError UPSTREAM_FAILED */
  readonly read: (data: string) => readonly ChoiceChunk[];
  /** Chunks that can only be shown at the end. */
  readonly atEnd: () => readonly ChoiceChunk[];
  readonly isOver: () => boolean;
  /** The answer was ended here while the server continues: stop reading. Absent: never. */
  readonly isCut?: () => boolean;
  readonly choices: (aborted: boolean) => readonly Choice[];
};

/** The protocol of one kind of engine. */
export type UpstreamDialect = {
  /** @throws ServingError TEMPLATE_REFUSED, CONTEXT_LENGTH_EXCEEDED if prompts are rendered here */
  readonly prepare: (request: GenerationRequest, model: ModelLease) => Promise<UpstreamExchange>;
  /** Absent if the engine cannot count. @throws ServingError UPSTREAM_*, TEMPLATE_REFUSED */
  readonly countTokens?: (prompt: PromptParts) => Promise<number>;
  /** Rejects when the dialect cannot continue. */
  readonly failed?: Promise<never>;
  /** Why it currently cannot prepare requests. */
  readonly problem?: () => string | undefined;
  readonly close: () => Promise<void>;
};
