import { ServingError } from '../errors.ts';
import type { GenerationRequest } from '../generation.ts';
import type { Caller } from './access.ts';
import type { KeyQuota } from './key-quota.ts';

/** The tokens of one answer, counted against the limits of its key. Only the first call counts. */
export type AnswerCount = {
  readonly took: (tokens: number) => void;
  /** The client left before the first token; the prompt may have been processed. */
  readonly tookPrompt: () => void;
};

/** The parts of a request that determine its tokens. */
type TokenDemand = Pick<GenerationRequest, 'messages' | 'tools' | 'choices' | 'sampling'>;

/**
 * Admits a request for an answer and reserves its expected tokens, so that concurrent requests cannot exceed the
 * limit together.
 * @throws ServingError RATE_LIMIT_EXCEEDED; INVALID_REQUEST if the limit can never fit that many choices
 */
export function admitAnswer(quota: KeyQuota, caller: Caller, request: TokenDemand): AnswerCount {
  const { keyId, limits } = caller;
  const tokenLimit = Math.min(limits.tokensPerMinute ?? Infinity, limits.tokensPerDay ?? Infinity);
  const { prompt, answers } = tokenLimit === Infinity ? nothingExpected : expectedTokens(request);
  if (request.choices > 1 && prompt + answers > tokenLimit) throw tooManyChoices(request, tokenLimit);
  const reserved = Math.min(prompt + answers, tokenLimit);
  const usedUp = quota.admit(caller, reserved);
  if (usedUp !== undefined) throw ServingError.RATE_LIMIT_EXCEEDED(usedUp);
  let isCounted = false;
  const took = (tokens: number) => {
    if (!isCounted) quota.spend(keyId, tokens - reserved);
    isCounted = true;
  };
  return { took, tookPrompt: () => took(prompt) };
}

type ExpectedTokens = {
  readonly prompt: number;
  /** of all choices together */
  readonly answers: number;
};

const nothingExpected: ExpectedTokens = { prompt: 0, answers: 0 };
const CHARACTERS_PER_TOKEN = 4;
/** Tokens of an answer whose request has no `max_tokens`. */
const SHORT_ANSWER = 16;

/** Estimates the tokens of a request before its prompt is built. */
const expectedTokens = ({ messages, tools, choices, sampling }: TokenDemand): ExpectedTokens => ({
  prompt: Math.ceil(charactersOf([messages, tools]) / CHARACTERS_PER_TOKEN),
  answers: choices * (sampling.maxTokens ?? SHORT_ANSWER),
});

/** Characters of all strings in a JSON value. */
function charactersOf(value: unknown): number {
  let characters = 0;
  const open: unknown[] = [value];
  while (open.length > 0) {
    const part = open.pop();
    if (typeof part === 'string') characters += part.length;
    else if (typeof part === 'object' && part !== null)
      for (const item of Object.values(part)) open.push(item);
  }
  return characters;
}

function tooManyChoices({ choices }: TokenDemand, tokenLimit: number) {
  const detail = `Invalid 'n': ${choices} answers may need more than the ${tokenLimit} tokens that this key is allowed; request fewer answers or a smaller max_tokens.`;
  return ServingError.INVALID_REQUEST({ param: 'n', detail });
}

/** Call this before reading a request for an answer. @throws ServingError RATE_LIMIT_EXCEEDED */
export function admitUnread(quota: KeyQuota, caller: Caller): void {
  const usedUp = quota.admitUnread(caller);
  if (usedUp !== undefined) throw ServingError.RATE_LIMIT_EXCEEDED(usedUp);
}

/** Counts a request for anything other than an answer. @throws ServingError RATE_LIMIT_EXCEEDED */
export function admitOther(quota: KeyQuota, caller: Caller): void {
  const usedUp = quota.admitOther(caller);
  if (usedUp !== undefined) throw ServingError.RATE_LIMIT_EXCEEDED(usedUp);
}
