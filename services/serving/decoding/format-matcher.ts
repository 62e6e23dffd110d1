import { isGrammarError } from '../../../shared/json-grammar/grammar-error.ts';
import { anyObject, blank } from '../../../shared/json-grammar/json-patterns.ts';
import type { Matcher } from '../../../shared/json-grammar/matcher.ts';
import {
  choice,
  oneOf,
  oneOfTexts,
  optional,
  type Pattern,
  repeat,
  sequence,
  text,
  withoutDeadEnds,
} from '../../../shared/json-grammar/pattern.ts';
import { regexPattern } from '../../../shared/json-grammar/regex-pattern.ts';
import { schemaPattern } from '../../../shared/json-grammar/schema-pattern.ts';
import { isServiceError } from '../../../shared/runtime/errors.ts';
import type { AnswerFormat } from '../generation.ts';
import { answerMatcher, grammarRefusal } from './grammar-refusal.ts';
import { keepLatest } from './kept-matchers.ts';
import type { ToolCallForm } from './tool-call-form.ts';

/** Calls that may replace an answer of a format. */
export type PossibleCalls = { readonly form: ToolCallForm; readonly names: readonly string[] };

type MatcherKey = { readonly format: AnswerFormat; readonly calls: PossibleCalls | undefined };

/**
 * Matchers of answers of a format. The latest ones are cached.
 * @throws ServingError INVALID_REQUEST for a format that is not supported
 */
export function createFormatMatchers(): (format: AnswerFormat, calls?: PossibleCalls) => Matcher {
  const cachedMatcher = keepLatest(({ format, calls }: MatcherKey) => matcherOf(format, calls));
  return (format, calls) => cachedMatcher({ format, calls });
}

function matcherOf(format: AnswerFormat, calls: PossibleCalls | undefined): Matcher {
  const { param } = format;
  try {
    const document = withoutDeadEnds(patternOf(format));
    if (document === undefined) throw grammarRefusal(param, 'no answer can match this format');
    const pattern = calls === undefined ? document : choice(document, callOf(calls));
    return answerMatcher(pattern, param);
  } catch (error) {
    if (isServiceError(error)) throw error;
    if (error instanceof RangeError) throw grammarRefusal(param, 'it is nested too deeply'); // stack overflow
    throw grammarRefusal(param, (error as Error).message);
  }
}

/** An answer does not begin with indentation. */
const lead = optional(oneOf(' \n'));

function patternOf(format: AnswerFormat): Pattern {
  const { param } = format;
  switch (format.kind) {
    case 'json':
      return sequence(lead, anyObject);
    case 'schema':
      return sequence(lead, schemaPattern(format.schema));
    case 'choice':
      return oneOfTexts(format.of);
    case 'regex':
      return expressionPattern(format.regex, param);
    case 'grammar':
      throw grammarRefusal(
        param,
        'grammars need an upstream engine; the local engine supports schemas and regular expressions',
      );
  }
}

function expressionPattern(source: string, param: string): Pattern {
  try {
    return regexPattern(source, true);
  } catch (error) {
    if (!isGrammarError(error)) throw error;
    throw grammarRefusal(param, `the regular expression is not supported: ${error.reason}`);
  }
}

/** One unmarked call, recognised by its form only, or calls between marks. */
function callOf({ form, names }: PossibleCalls): Pattern {
  const name = oneOfTexts(names.map((toolName) => JSON.stringify(toolName)));
  const callWith = (argumentsKey: string) =>
    sequence(
      text('{"name":'),
      blank,
      name,
      text(','),
      blank,
      text(`"${argumentsKey}":`),
      blank,
      anyObject,
      blank,
      text('}'),
    );
  if (form === 'bare') return sequence(blank, callWith('parameters'));
  const marked = [text('<tool_call>'), blank, callWith('arguments'), blank, text('</tool_call>')];
  return repeat(sequence(blank, ...marked), 1);
}
