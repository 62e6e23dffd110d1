import { isServiceError } from '../../../shared/service/errors.ts';
import type { ToolCallForm } from '../chat/tool-call-form.ts';
import { ServingError } from '../errors.ts';
import type { AnswerFormat } from './answer-format.ts';
import { anyObject, blank } from './json-patterns.ts';
import { keepLatest } from './kept.ts';
import { createMatcher, type Matcher } from './matcher.ts';
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
} from './pattern.ts';
import { createPatternBudget } from './pattern-budget.ts';
import { isFault, regexPattern } from './regex-pattern.ts';
import { schemaPattern } from './schema-pattern.ts';

/** Calls that an answer may be instead of what its format says. */
export type PossibleCalls = { readonly form: ToolCallForm; readonly names: readonly string[] };

type Asked = { readonly format: AnswerFormat; readonly calls: PossibleCalls | undefined };

/**
 * What reads answers of a format. Those of late are kept, by what was asked.
 * @throws ServingError INVALID_REQUEST for a format that answers cannot be held to
 */
export function createFormatMatchers(): (format: AnswerFormat, calls?: PossibleCalls) => Matcher {
  const keptMatcher = keepLatest(({ format, calls }: Asked) => matcherOf(format, calls));
  return (format, calls) => keptMatcher({ format, calls });
}

function matcherOf(format: AnswerFormat, calls: PossibleCalls | undefined): Matcher {
  const { param } = format;
  try {
    const held = withoutDeadEnds(patternOf(format));
    if (held === undefined) throw refusal(param, 'no answer is of this format');
    const pattern = calls === undefined ? held : choice(held, callOf(calls));
    return createMatcher(pattern, (why) => refusal(param, why));
  } catch (error) {
    if (isServiceError(error)) throw error;
    if (error instanceof RangeError) throw refusal(param, 'it is nested too deep'); // of the stack
    throw refusal(param, (error as Error).message);
  }
}

const refusal = (param: string, why: string) =>
  ServingError.INVALID_REQUEST({ param, detail: `Invalid '${param}': ${why}.` });

/** Where an answer begins there is no indentation. */
const lead = optional(oneOf(' \n'));

function patternOf(format: AnswerFormat): Pattern {
  const { param } = format;
  const budget = createPatternBudget((why) => refusal(param, why));
  switch (format.kind) {
    case 'json':
      return sequence(lead, anyObject);
    case 'schema':
      return sequence(lead, schemaPattern(format.schema, param, budget));
    case 'choice':
      return oneOfTexts(format.of);
    case 'regex': {
      const made = regexPattern(format.regex, true);
      if (isFault(made)) throw refusal(param, `the expression cannot be held: ${made.fault}`);
      return made;
    }
    case 'grammar':
      throw refusal(param, 'grammars are for an upstream engine; here a schema or an expression is held');
  }
}

/** One call without marks, which is told by its whole form alone, or calls in marks. */
function callOf({ form, names }: PossibleCalls): Pattern {
  const name = oneOfTexts(names.map((one) => JSON.stringify(one)));
  const callWith = (argumentsKey: string) =>
    sequence(
      ...[text('{"name":'), blank, name, text(','), blank],
      ...[text(`"${argumentsKey}":`), blank, anyObject, blank, text('}')],
    );
  if (form === 'bare') return sequence(blank, callWith('parameters'));
  const marked = [text('<tool_call>'), blank, callWith('arguments'), blank, text('</tool_call>')];
  return repeat(sequence(blank, ...marked), 1);
}
