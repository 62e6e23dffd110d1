import { isGrammarError } from '../../../shared/json-grammar/grammar-error.ts';
import { createMatcher, type Matcher } from '../../../shared/json-grammar/matcher.ts';
import type { Pattern } from '../../../shared/json-grammar/pattern.ts';
import type { ServiceError } from '../../../shared/runtime/errors.ts';
import { ServingError } from '../errors.ts';

/** Blames a request field for a grammar that cannot be used. */
export const grammarRefusal = (param: string, reason: string): ServiceError =>
  ServingError.INVALID_REQUEST({ param, detail: `Invalid '${param}': ${reason}.` });

/**
 * A matcher whose errors, also those in the middle of an answer, blame the request field.
 * @throws ServingError INVALID_REQUEST
 */
export function answerMatcher(pattern: Pattern, param: string): Matcher {
  const blamed = (error: unknown): unknown =>
    isGrammarError(error) ? grammarRefusal(param, error.message) : error;
  let matcher: Matcher;
  try {
    matcher = createMatcher(pattern);
  } catch (error) {
    throw blamed(error);
  }
  return {
    start: matcher.start,
    beginToken: () => matcher.beginToken(),
    next: (state, codePoint) => {
      try {
        return matcher.next(state, codePoint);
      } catch (error) {
        throw blamed(error);
      }
    },
    mayBeWithin: (state, from, to) => {
      try {
        return matcher.mayBeWithin(state, from, to);
      } catch (error) {
        throw blamed(error);
      }
    },
  };
}
