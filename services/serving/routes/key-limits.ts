import type { Caller } from '../access.ts';
import { type AskedTokens, expectedTokens } from '../chat/expected-tokens.ts';
import { ServingError } from '../errors.ts';
import type { KeyQuota } from '../key-quota.ts';

/** The tokens of an answer on the account of its key. Counts once: what comes later changes nothing. */
export type AnswerCount = {
  readonly took: (tokens: number) => void;
  /** Its client left before the first token, when the prompt may have been read. */
  readonly tookPrompt: () => void;
};

/**
 * Lets a request for an answer in, with the tokens that it will probably take set aside, so that requests that
 * come together cannot take what only one of them was let in for.
 * @throws ServingError RATE_LIMIT_EXCEEDED; INVALID_REQUEST where the limit has never room for that many choices
 */
export function admitAnswer(quota: KeyQuota, caller: Caller, request: AskedTokens): AnswerCount {
  const { keyId, limits } = caller;
  const mostTokens = Math.min(limits.tokensPerMinute ?? Infinity, limits.tokensPerDay ?? Infinity);
  const { prompt, answers } = mostTokens === Infinity ? nothingCounted : expectedTokens(request);
  if (request.choices > 1 && prompt + answers > mostTokens) throw tooManyChoices(request, mostTokens);
  const aside = Math.min(prompt + answers, mostTokens);
  const usedUp = quota.admit(caller, aside);
  if (usedUp !== undefined) throw ServingError.RATE_LIMIT_EXCEEDED(usedUp);
  let isCounted = false;
  const took = (tokens: number) => {
    if (!isCounted) quota.spend(keyId, tokens - aside);
    isCounted = true;
  };
  return { took, tookPrompt: () => took(prompt) };
}

const nothingCounted = { prompt: 0, answers: 0 };

function tooManyChoices({ choices }: AskedTokens, mostTokens: number) {
  const detail = `Invalid 'n': ${choices} answers may take more than the ${mostTokens} tokens that this key has at most; ask for fewer, or for a smaller max_tokens.`;
  return ServingError.INVALID_REQUEST({ param: 'n', detail });
}

/** Before a request for an answer is read. @throws ServingError RATE_LIMIT_EXCEEDED */
export function admitUnread(quota: KeyQuota, caller: Caller): void {
  const usedUp = quota.admitUnread(caller);
  if (usedUp !== undefined) throw ServingError.RATE_LIMIT_EXCEEDED(usedUp);
}

/** Counts a request for anything but an answer. @throws ServingError RATE_LIMIT_EXCEEDED */
export function admitOther(quota: KeyQuota, caller: Caller): void {
  const usedUp = quota.admitOther(caller);
  if (usedUp !== undefined) throw ServingError.RATE_LIMIT_EXCEEDED(usedUp);
}
