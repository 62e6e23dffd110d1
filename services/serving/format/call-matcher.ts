import { isServiceError } from '../../../shared/service/errors.ts';
import { ServingError } from '../errors.ts';
import { anyObject } from './json-patterns.ts';
import { lettersIn } from './letters.ts';
import { createMatcher, type Matcher } from './matcher.ts';
import {
  choice,
  letters,
  optional,
  type Pattern,
  repeat,
  sequence,
  text,
  withoutDeadEnds,
} from './pattern.ts';
import { createPatternBudget, type PatternBudget } from './pattern-budget.ts';
import { schemaPattern } from './schema-pattern.ts';

/** A call that has to come, after its beginning in the prompt. */
export type AskedCall = {
  /** What is written of each tool before its arguments; empty where that stands in the prompt. */
  readonly tools: readonly { readonly written: string; readonly parameters?: unknown }[];
};

/**
 * What reads such a call. Arguments are of their schema where there is one that answers can be held to; else
 * they are an object. One budget pays for the schemas of all tools.
 */
export function callMatcher({ tools }: AskedCall): Matcher {
  const refusal = (why: string) =>
    ServingError.INVALID_REQUEST({ param: 'tools', detail: `Invalid 'tools': ${why}.` });
  const budget = createPatternBudget(refusal);
  const calls = tools.map(({ written, parameters }) =>
    sequence(...(written === '' ? [] : [space, text(written)]), space, argumentsOf(parameters, budget)),
  );
  return createMatcher(sequence(choice(...calls), closing), refusal);
}

const space = optional(text(' '));
const blanks = repeat(letters(lettersIn(' \n')), 0, 3);
/** What a token that ends the arguments may hold of what closes the call. */
const closing = sequence(blanks, optional(text('}')), blanks);

function argumentsOf(parameters: unknown, budget: PatternBudget): Pattern {
  const isOfObjects = (parameters as { readonly type?: unknown } | undefined)?.type === 'object';
  if (!isOfObjects) return anyObject;
  try {
    return withoutDeadEnds(schemaPattern(parameters, 'tools', budget)) ?? anyObject;
  } catch (error) {
    if (isServiceError(error) || error instanceof RangeError) return anyObject;
    throw error;
  }
}
