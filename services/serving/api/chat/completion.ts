import { defined } from '../../../../shared/lang/defined.ts';
import type { FinishedAnswer } from '../../answer/answer.ts';
import { cutOf, ignoredOf, type Mark, type Omission } from '../../answer/mark.ts';
import type { AnswerChunk, CallPart, Generated, ShownToken } from '../../generation.ts';
import { oldCallDelta, oldFinishReason, withOldCall } from '../request/old-functions.ts';

/** The members that all chunks of an answer share. */
export type CompletionHead = {
  readonly id: string;
  readonly model: string;
  /** s since 1970 */
  readonly created: number;
};

const bytesOf = (token: string): readonly number[] | null =>
  token.includes('\uFFFD') ? null : [...Buffer.from(token)];

/** JSON has no infinity; OpenAI uses this value for an impossible token. */
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
  ...defined({
    prompt_tokens_details:
      cachedPromptTokens === undefined ? undefined : { cached_tokens: cachedPromptTokens },
  }),
});

/** OpenAI has no `aborted`; an aborted answer is shown as cut short. */
const finishReasonOf = ({ finishReason }: Generated) =>
  finishReason === 'aborted' ? 'length' : finishReason;

/** The parts of a request that determine the form of its answer. */
type PresentationOptions = {
  readonly ignored: readonly Omission[];
  readonly oldCalls?: boolean | undefined;
};

/** The body of a non-streamed answer. */
export const completionBody = (
  head: CompletionHead,
  { version, choices, usage }: FinishedAnswer,
  { ignored, oldCalls = false }: PresentationOptions,
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
    version,
    recorded: choices.every(({ recorded }) => recorded),
    ...ignoredOf(ignored),
    ...cutOf(choices[0]!.generated),
  } satisfies Mark,
});

type ChunkChoice = {
  readonly index: number;
  readonly delta: object;
  readonly finish_reason?: string;
  readonly logprobs?: object;
};
type ChunkOptions = PresentationOptions & { readonly choices: number; readonly includeUsage: boolean };

/** The chunks of a streamed answer; each belongs to one choice. */
export function completionChunks(head: CompletionHead, options: ChunkOptions) {
  const { choices, includeUsage, ignored, oldCalls = false } = options;
  const indices = Array.from({ length: choices }, (_, index) => index);
  /** Ids of the calls sent so far, by choice; the position of an id is the index of its call. */
  const sentCalls = indices.map((): string[] => []);
  const toolCallsOf = ({ toolCalls = [], callParts = [] }: AnswerChunk, choice: number) => {
    const ids = sentCalls[choice]!;
    const inParts = [...ids, ...callParts.map(({ id }) => id)];
    const whole = toolCalls
      .filter(({ id }) => id === undefined || !inParts.includes(id))
      .map(({ id = '', function: { name, arguments: args } }) => ({ id, name, arguments: args }));
    return [...callParts, ...whole].map(({ id, name, arguments: args }: CallPart) => {
      if (name === undefined) return { index: ids.indexOf(id), function: { arguments: args } };
      return { index: ids.push(id) - 1, id, type: 'function', function: { name, arguments: args } };
    });
  };
  const chunk = (choice: ChunkChoice | undefined, more: object = {}) => ({
    ...head,
    object: 'chat.completion.chunk',
    choices: choice === undefined ? [] : [{ logprobs: null, finish_reason: null, ...choice }],
    ...defined({ usage: includeUsage ? null : undefined }),
    ...more,
  });
  return {
    first: () => indices.map((index) => chunk({ index, delta: { role: 'assistant', content: '' } })),
    next: (piece: AnswerChunk, index: number, logProbs: boolean) => {
      const { text, reasoning, tokens } = piece;
      const calls = toolCallsOf(piece, index);
      const isEmpty = text === '' && (calls.length > 0 || reasoning !== undefined);
      const delta = {
        ...defined({ content: isEmpty ? undefined : text, reasoning_content: reasoning }),
        ...(calls.length === 0 ? {} : oldCalls ? oldCallDelta(calls) : { tool_calls: calls }),
      };
      return chunk({ index, delta, ...defined({ logprobs: logProbs ? logProbsOf(tokens) : undefined }) });
    },
    /** Sent only when the events are durable or known to be lost. */
    last: ({ choices: finished }: FinishedAnswer) =>
      finished.map(({ index, generated, recorded }) =>
        chunk(
          {
            index,
            delta: {},
            finish_reason: oldCalls ? oldFinishReason(finishReasonOf(generated)) : finishReasonOf(generated),
          },
          {
            clawloop: {
              version: generated.version,
              recorded,
              ...ignoredOf(ignored),
              ...cutOf(generated),
            } satisfies Mark,
          },
        ),
      ),
    usage: ({ usage }: FinishedAnswer) => chunk(undefined, { usage: usageOf(usage) }),
  };
}
