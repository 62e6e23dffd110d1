import type { ChatMessage } from '../../../shared/events/chat-message.ts';
import type { AnswerChunk, Generated, ShownToken } from '../engine/engine.ts';

/** What stays the same in all chunks of an answer. */
export type CompletionHead = {
  readonly id: string;
  readonly model: string;
  /** s since the epoch */
  readonly created: number;
};

/** Our own mark on an answer: who gave it, and whether the fact of it is durable. */
export type Mark = { readonly version: number; readonly recorded: boolean };

const bytesOf = (token: string): readonly number[] | null =>
  token.includes('\uFFFD') ? null : [...Buffer.from(token)];

/** JSON knows no infinity; OpenAI writes this for a token that cannot be. */
const LEAST_LOG_PROB = -9999;

const logProbsOf = (tokens: readonly ShownToken[]) => ({
  content: tokens.map(({ token, logProb, alternatives }) => ({
    token,
    logprob: Math.max(logProb, LEAST_LOG_PROB),
    bytes: bytesOf(token),
    top_logprobs: alternatives.map((other) => ({
      token: other.token,
      logprob: Math.max(other.logProb, LEAST_LOG_PROB),
      bytes: bytesOf(other.token),
    })),
  })),
  refusal: null,
});

const usageOf = ({ promptTokens, completionTokens, cachedPromptTokens }: Generated['usage']) => ({
  prompt_tokens: promptTokens,
  completion_tokens: completionTokens,
  total_tokens: promptTokens + completionTokens,
  ...(cachedPromptTokens === undefined
    ? {}
    : { prompt_tokens_details: { cached_tokens: cachedPromptTokens } }),
});

/** OpenAI knows no `aborted`; whoever still reads such an answer sees it cut short. */
const finishReasonOf = ({ finishReason }: Generated) =>
  finishReason === 'aborted' ? 'length' : finishReason;

export type Finished = {
  readonly generated: Generated;
  readonly answer: ChatMessage;
  /** Undefined: the client did not ask for log-probs. */
  readonly tokens: readonly ShownToken[] | undefined;
  readonly recorded: boolean;
};

/** The body of an answer that is not streamed. */
export const completionBody = (head: CompletionHead, { generated, answer, tokens, recorded }: Finished) => ({
  ...head,
  object: 'chat.completion',
  choices: [
    {
      index: 0,
      message: { refusal: null, ...answer },
      logprobs: tokens === undefined ? null : logProbsOf(tokens),
      finish_reason: finishReasonOf(generated),
    },
  ],
  usage: usageOf(generated.usage),
  clawloop: { version: generated.version, recorded } satisfies Mark,
});

/** The chunks of a streamed answer. */
export function completionChunks(head: CompletionHead, { includeUsage }: { readonly includeUsage: boolean }) {
  let toolCalls = 0;
  const chunk = (choice: object | undefined, more: object = {}) => ({
    ...head,
    object: 'chat.completion.chunk',
    choices: choice === undefined ? [] : [{ index: 0, logprobs: null, finish_reason: null, ...choice }],
    ...(includeUsage ? { usage: null } : {}),
    ...more,
  });
  return {
    first: () => chunk({ delta: { role: 'assistant', content: '' } }),
    next: ({ text, reasoning, toolCalls: calls = [], tokens }: AnswerChunk, logProbs: boolean) =>
      chunk({
        delta: {
          ...(text === '' && (calls.length > 0 || reasoning !== undefined) ? {} : { content: text }),
          ...(reasoning === undefined ? {} : { reasoning_content: reasoning }),
          ...(calls.length === 0
            ? {}
            : { tool_calls: calls.map((call) => ({ index: toolCalls++, ...call })) }),
        },
        ...(logProbs ? { logprobs: logProbsOf(tokens) } : {}),
      }),
    /** Goes out only when the fact is durable, or is known to be lost. */
    last: ({ generated, recorded }: Finished) =>
      chunk(
        { delta: {}, finish_reason: finishReasonOf(generated) },
        { clawloop: { version: generated.version, recorded } satisfies Mark },
      ),
    usage: ({ generated }: Finished) => chunk(undefined, { usage: usageOf(generated.usage) }),
  };
}
