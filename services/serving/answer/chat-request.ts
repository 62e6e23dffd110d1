import type { GenerationRequest } from '../generation.ts';
import type { Omission } from './mark.ts';

/** A valid chat request: what to generate, and how the client wants to see it. */
export type ChatRequest = {
  readonly model: string;
  readonly generation: Omit<GenerationRequest, 'target'>;
  /** As received, for the record. */
  readonly tools: readonly unknown[] | undefined;
  readonly stream: boolean;
  readonly includeUsage: boolean;
  readonly session: string | undefined;
  /** The client's name for the person: a hint at the session. */
  readonly user: string | undefined;
  /** Parts of the request that were left out. */
  readonly ignored: readonly Omission[];
  /** Show calls as `function_call`, the form that predates `tools`. */
  readonly oldCalls?: true;
  /** OpenAI's Responses only: request fields that the response repeats. */
  readonly response?: Readonly<Record<string, unknown>> & { readonly store: boolean };
};
