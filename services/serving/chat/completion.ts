import type { ChatMessage } from '../../../shared/events/chat-message.ts';
import type { AnswerChunk, CallPart, Choice, Generated, ShownToken } from '../engine/engine.ts';
import { cutIn } from './cut-mark.ts';
import { oldCallDelta, oldFinishReason, withOldCall } from './old-functions.ts';
import { ignoredIn, type Omission } from './omissions.ts';

/** What stays the same in all chunks of an answer. */
export type CompletionHead = {
  readonly id: string;
  readonly model: string;
  /** s since the epoch */
  readonly created: number;
};

/** Our own mark on an answer. */
export type Mark = {
  /** who gave it */
  readonly version: number;
  /** whether the fact of it is durable */
  readonly recorded: boolean;
  /** what of its request was left out */
  readonly ignored?: readonly string[] | undefined;
  /** counts of what the policy did not see of it */
  readonly cut?: Readonly<Record<string, number>>;
};

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

export type FinishedChoice = Choice & {
  readonly answer: ChatMessage;
  /** Undefined: the client did not ask for log-probs. */
  readonly tokens: readonly ShownToken[] | undefined;
  readonly recorded: boolean;
};

/** A request that was answered: at least one choice, fewer than asked for only where it was cut short. */
export type Finished = {
  readonly version: number;
  readonly choices: readonly FinishedChoice[];
  /** Of all choices together. */
  readonly usage: Generated['usage'];
};

/** What of a request shapes how its answer is told. */
export type TellingOptions = {
  readonly ignored: readonly Omission[];
  readonly oldCalls?: boolean | undefined;
};

/** The body of an answer that is not streamed. */
export const completionBody = (
  head: CompletionHead,
  { version, choices, usage }: Finished,
  { ignored, oldCalls = false }: TellingOptions,
) => ({
  ...head,
  object: 'chat.completion',
  choices: choices.map(({ index, generated, answer, tokens }) => ({
    index,
    message: { refusal: null, ...(oldCalls ? withOldCall(answer) : answer) },
    logprobs: tokens === undefined ? null : logProbsOf(tokens),
    finish_reason: oldCalls ? oldFinishReason(finishReasonOf(generated)) : finishReasonOf(generated),
  })),
  usage: usageOf(usage),
  clawloop: {
    ...{ version, recorded: choices.every(({ recorded }) => recorded) },
    ...ignoredIn(ignored),
    ...cutIn(choices[0]!.generated),
  } satisfies Mark,
});

type ChunkChoice = {
  readonly index: number;
  readonly delta: object;
  readonly finish_reason?: string;
  readonly logprobs?: object;
};
type ChunkOptions = TellingOptions & { readonly choices: number; readonly includeUsage: boolean };

/** The chunks of a streamed answer; each is of one choice. */
export function completionChunks(head: CompletionHead, options: ChunkOptions) {
  const { choices, includeUsage, ignored, oldCalls = false } = options;
  const indices = Array.from({ length: choices }, (_, index) => index);
  /** Ids of the calls told so far, by choice: a call's place among them is its index. */
  const told = indices.map((): string[] => []);
  const toolCallsOf = ({ toolCalls = [], callParts = [] }: AnswerChunk, choice: number) => {
    const ids = told[choice]!;
    const inParts = [...ids, ...callParts.map(({ id }) => id)];
    const whole = toolCalls
      .filter(({ id }) => id === undefined || !inParts.includes(id))
      .map(({ id = '', function: { name, arguments: given } }) => ({ id, name, arguments: given }));
    return [...callParts, ...whole].map(({ id, name, arguments: given }: CallPart) => {
      if (name === undefined) return { index: ids.indexOf(id), function: { arguments: given } };
      return { index: ids.push(id) - 1, id, type: 'function', function: { name, arguments: given } };
    });
  };
  const chunk = (choice: ChunkChoice | undefined, more: object = {}) => ({
    ...head,
    object: 'chat.completion.chunk',
    choices: choice === undefined ? [] : [{ logprobs: null, finish_reason: null, ...choice }],
    ...(includeUsage ? { usage: null } : {}),
    ...more,
  });
  return {
    first: () => indices.map((index) => chunk({ index, delta: { role: 'assistant', content: '' } })),
    next: (piece: AnswerChunk, index: number, logProbs: boolean) => {
      const { text, reasoning, tokens } = piece;
      const calls = toolCallsOf(piece, index);
      const isSilent = text === '' && (calls.length > 0 || reasoning !== undefined);
      const delta = {
        ...(isSilent ? {} : { content: text }),
        ...(reasoning === undefined ? {} : { reasoning_content: reasoning }),
        ...(calls.length === 0 ? {} : oldCalls ? oldCallDelta(calls) : { tool_calls: calls }),
      };
      return chunk({ index, delta, ...(logProbs ? { logprobs: logProbsOf(tokens) } : {}) });
    },
    /** Go out only when the facts are durable, or are known to be lost. */
    last: ({ choices: finished }: Finished) =>
      finished.map(({ index, generated, recorded }) =>
        chunk(
          {
            ...{ index, delta: {} },
            finish_reason: oldCalls ? oldFinishReason(finishReasonOf(generated)) : finishReasonOf(generated),
          },
          {
            clawloop: {
              ...{ version: generated.version, recorded },
              ...ignoredIn(ignored),
              ...cutIn(generated),
            } satisfies Mark,
          },
        ),
      ),
    usage: ({ usage }: Finished) => chunk(undefined, { usage: usageOf(usage) }),
  };
}
