import { isHuman } from '../../shared/chat/message.ts';
import type { SampleReady } from '../../shared/events/sample-ready.ts';
import { withHint } from '../../shared/policy/hint.ts';
import type { LearningEngine } from './learning-engine.ts';

/** Why no hint teaches: then only the verdict trains. */
export type NoTeacher = 'no-hint' | 'distrusted' | 'template-drift' | 'no-request' | 'too-long';

export type HintedPrompts =
  /** one per hint that fits, in the order of the hints */
  | { readonly kind: 'hinted'; readonly prompts: readonly (readonly number[])[] }
  | { readonly kind: Exclude<NoTeacher, 'distrusted'> };

type Sample = Pick<SampleReady['data'], 'hints' | 'messages' | 'tools' | 'templateInput' | 'tokens'>;

/**
 * What a teacher reads: the sample's prompt with one of its hints at the end of the person's last words among
 * the messages that survived a window cut. The prompt without a hint is written again first: if it does not
 * give the recorded ids, tokenizer or template are not those that the policy saw, and the two would differ by
 * more than the hint.
 *
 * @param most so many hints at most, the first ones: the longest
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
  if (!isWrittenAlike(sample, engine)) return { kind: 'template-drift' };
  if (at < 0) return { kind: 'no-request' };
  const all = hints
    .slice(0, most)
    .map((hint) => written(() => writePrompt({ messages: withHint(messages, at, hint), tools, variables })));
  const prompts = all.filter((promptIds) => promptIds !== undefined);
  if (prompts.length === 0) return { kind: 'template-drift' };
  const fitting = prompts.filter(({ length }) => length + tokens.responseIds.length <= contextTokens);
  return fitting.length === 0 ? { kind: 'too-long' } : { kind: 'hinted', prompts: fitting };
}

/** Whether tokenizer and template are still those that the policy saw. */
export function isWrittenAlike(
  sample: Omit<Sample, 'hints'>,
  { writePrompt }: Pick<LearningEngine, 'writePrompt'>,
): boolean {
  const plain = written(() => writePrompt(inputOf(sample)));
  return plain !== undefined && sameIds(plain, sample.tokens.promptIds);
}

const inputOf = ({ messages: asked, tools: askedTools, templateInput }: Omit<Sample, 'hints' | 'tokens'>) => {
  const { messages = asked, tools = askedTools ?? [], variables = {} } = templateInput ?? {};
  return { messages, tools, variables };
};

/** Undefined: the template refuses the messages. */
function written(write: () => readonly number[]): readonly number[] | undefined {
  try {
    return write();
  } catch {
    return undefined;
  }
}

const sameIds = (a: readonly number[], b: readonly number[]): boolean =>
  a.length === b.length && a.every((id, index) => id === b[index]);
