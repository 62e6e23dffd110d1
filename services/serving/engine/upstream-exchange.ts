import type { JsonText } from '../../../shared/chat/json-text.ts';
import type { AnswerChunk, Choice, GenerationRequest, PromptParts } from './engine.ts';
import type { ModelLease } from './upstream-models.ts';
import type { UpstreamRefusal } from './upstream-refusal.ts';

/** A part of an answer that can be shown, and whose it is. */
export type HeardChunk = { readonly chunk: AnswerChunk; readonly choice: number };

/** One request as its engine wants it, and what comes back. */
export type UpstreamExchange = {
  readonly address: string;
  readonly body: JsonText;
  /** After the first event; undefined: the engine tells it at the end alone. */
  readonly promptTokens: () => number | undefined;
  /** Whether the first event is no answer but a refusal. */
  readonly refusal: (data: string) => UpstreamRefusal | undefined;
  /** Takes the next event of the stream. @throws ServingError UPSTREAM_FAILED; an error where it cannot be read */
  readonly hear: (data: string) => readonly HeardChunk[];
  /** What can only be shown at the end. */
  readonly rest: () => readonly HeardChunk[];
  readonly isOver: () => boolean;
  /** It is over here, and the server does not know: no more of it is read. Absent: never. */
  readonly isCut?: () => boolean;
  readonly choices: (aborted: boolean) => readonly Choice[];
};

/** How one kind of engine is spoken to. */
export type UpstreamDialect = {
  /** @throws ServingError TEMPLATE_REFUSED, CONTEXT_LENGTH_EXCEEDED where prompts are made here */
  readonly ask: (request: GenerationRequest, model: ModelLease) => Promise<UpstreamExchange>;
  /** Absent: nobody knows. @throws ServingError UPSTREAM_*, TEMPLATE_REFUSED */
  readonly countTokens?: (prompt: PromptParts) => Promise<number>;
  /** Rejects when it cannot go on. */
  readonly failed?: Promise<never>;
  /** Why it can write no request just now. */
  readonly problem?: () => string | undefined;
  readonly close: () => Promise<void>;
};
