import { isHuman } from '../../shared/chat/message.ts';
import type { SampleReady } from '../../shared/events/sample-ready.ts';
import { withHint } from '../../shared/policy/text/hint.ts';
import type { LearningEngine } from './learning-engine.ts';

/** Why no hint of a sample teaches, so that only its verdict trains. */
export type NoTeacher = 'no-hint' | 'distrusted' | 'template-drift' | 'no-request' | 'too-long';

type HintedPrompts =
  /** one per hint that fits, in the order of the hints */
  | { readonly kind: 'hinted'; readonly prompts: readonly (readonly number[])[] }
  | { readonly kind: Exclude<NoTeacher, 'distrusted'> };

type Sample = Pick<SampleReady['data'], 'hints' | 'messages' | 'tools' | 'templateInput' | 'tokens'>;

/**
 * The prompts that a teacher reads: the sample's prompt with one of its hints appended to the person's last
 * message that survived a window cut. First the prompt is rendered without a hint. If that does not give the
 * recorded ids, tokenizer or template have changed since sampling, and the prompts would differ by more than
 * the hint.
 *
 * @param most largest number of hints; the first ones, which are the longest, are used
 */
export function hintedPrompts(
  sample: Sample,
  engine: Pick<LearningEngine, 'writePrompt' | 'contextTokens'>,
  most = 1,
): HintedPrompts {
  const { hints, tokens } = sample;
  const { writePrompt, contextTokens } = engine;
  if (hints.length === 0) return { kind: 'no-hint' };
  const { messages, tools, variables } = inputOf(sample);
  const at = messages.findLastIndex(isHuman);
  if (!rendersIdentically(sample, engine)) return { kind: 'template-drift' };
  if (at < 0) return { kind: 'no-request' };
  const all = hints
    .slice(0, most)
    .map((hint) =>
      promptOrUndefined(() => writePrompt({ messages: withHint(messages, at, hint), tools, variables })),
    );
  const prompts = all.filter((promptIds) => promptIds !== undefined);
  if (prompts.length === 0) return { kind: 'template-drift' };
  const fitting = prompts.filter(({ length }) => length + tokens.responseIds.length <= contextTokens);
  return fitting.length === 0 ? { kind: 'too-long' } : { kind: 'hinted', prompts: fitting };
}

/** Whether tokenizer and template still produce the recorded prompt. */
export function rendersIdentically(
  sample: Omit<Sample, 'hints'>,
  { writePrompt }: Pick<LearningEngine, 'writePrompt'>,
): boolean {
  const plain = promptOrUndefined(() => writePrompt(inputOf(sample)));
  return plain !== undefined && sameIds(plain, sample.tokens.promptIds);
}

const inputOf = (sample: Omit<Sample, 'hints' | 'tokens'>) => {
  const {
    messages = sample.messages,
    tools = sample.tools ?? [],
    variables = {},
  } = sample.templateInput ?? {};
  return { messages, tools, variables };
};

/** Undefined if the template rejects the messages. */
function promptOrUndefined(write: () => readonly number[]): readonly number[] | undefined {
  try {
    return write();
  } catch {
    return undefined;
  }
}

const sameIds = (a: readonly number[], b: readonly number[]): boolean =>
  a.length === b.length && a.every((id, index) => id === b[index]);
