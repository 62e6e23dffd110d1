import { codePointsIn } from '../../../shared/json-grammar/code-points.ts';
import { isGrammarError } from '../../../shared/json-grammar/grammar-error.ts';
import { anyObject } from '../../../shared/json-grammar/json-patterns.ts';
import type { Matcher } from '../../../shared/json-grammar/matcher.ts';
import {
  choice,
  codePoints,
  oneOfTexts,
  optional,
  type Pattern,
  repeat,
  sequence,
  text,
  withoutDeadEnds,
} from '../../../shared/json-grammar/pattern.ts';
import { createPatternBudget, type PatternBudget } from '../../../shared/json-grammar/pattern-budget.ts';
import { schemaPattern } from '../../../shared/json-grammar/schema-pattern.ts';
import { answerMatcher } from './grammar-refusal.ts';

/** A forced call, whose beginning is part of the prompt. */
type MatchedCall = {
  /** By tool: the text before the arguments, empty if it is part of the prompt; and their schema. */
  readonly tools: readonly { readonly written: string; readonly parameters?: unknown }[];
};

/**
 * Matches a forced call. Arguments match their schema if it is supported; otherwise they are any object. The
 * schemas of all tools share one budget.
 */
export function callMatcher({ tools }: MatchedCall): Matcher {
  const budget = createPatternBudget();
  const calls = tools.map(({ written, parameters }) => ({
    written,
    parameters: argumentsOf(parameters, budget),
  }));
  const ofAnyObject = calls.filter(({ parameters }) => parameters === anyObject);
  const ofSchema = calls.filter(({ parameters }) => parameters !== anyObject);
  const patterns = ofSchema.map(({ written, parameters }) => callPattern([written], parameters));
  if (ofAnyObject.length > 0)
    patterns.push(
      callPattern(
        ofAnyObject.map(({ written }) => written),
        anyObject,
      ),
    );
  return answerMatcher(sequence(choice(...patterns), closing), 'tools');
}

/** Calls that differ only in the text before their arguments. */
function callPattern(heads: readonly string[], parameters: Pattern): Pattern {
  const head = heads.every((written) => written === '') ? [] : [space, oneOfTexts(heads)];
  return sequence(...head, space, parameters);
}

const space = optional(text(' '));
const blanks = repeat(codePoints(codePointsIn(' \n')), 0, 3);
/** The text that the last token of the arguments may add: it closes the call. */
const closing = sequence(blanks, optional(text('}')), blanks);

function argumentsOf(parameters: unknown, budget: PatternBudget): Pattern {
  const isObjectSchema = (parameters as { readonly type?: unknown } | undefined)?.type === 'object';
  if (!isObjectSchema) return anyObject;
  try {
    return withoutDeadEnds(schemaPattern(parameters, budget)) ?? anyObject;
  } catch (error) {
    if (isGrammarError(error) || error instanceof RangeError) return anyObject;
    throw error;
  }
}
