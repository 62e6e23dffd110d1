import { isHuman } from '../../shared/chat/message.ts';
import type { SampleReady } from '../../shared/events/sample-ready.ts';
import { withHint } from '../../shared/policy/hint.ts';
import type { LearningEngine } from './learning-engine.ts';

/** Why a hint does not teach: then only the verdict trains. */
export type NoTeacher = 'no-hint' | 'template-drift' | 'no-request' | 'too-long';

export type HintedPrompt =
  | { readonly kind: 'hinted'; readonly promptIds: readonly number[] }
  | { readonly kind: NoTeacher };

type Sample = Pick<SampleReady['data'], 'hints' | 'messages' | 'tools' | 'templateInput' | 'tokens'>;

/**
 * What a teacher reads: the sample's prompt with its first hint, the longest, at the end of the person's last
 * words among the messages that survived a window cut. The prompt without the hint is written again first: if
 * it does not give the recorded ids, tokenizer or template are not those that the policy saw, and the two
 * would differ by more than the hint.
 */
export function hintedPrompt(
  { hints, messages: asked, tools: askedTools, templateInput, tokens }: Sample,
  { writePrompt, contextTokens }: Pick<LearningEngine, 'writePrompt' | 'contextTokens'>,
): HintedPrompt {
  const hint = hints[0];
  if (hint === undefined) return { kind: 'no-hint' };
  const { messages = asked, tools = askedTools ?? [], variables = {} } = templateInput ?? {};
  const at = messages.findLastIndex(isHuman);
  const plain = written(() => writePrompt({ messages, tools, variables }));
  if (plain === undefined || !sameIds(plain, tokens.promptIds)) return { kind: 'template-drift' };
  if (at < 0) return { kind: 'no-request' };
  const promptIds = written(() => writePrompt({ messages: withHint(messages, at, hint), tools, variables }));
  if (promptIds === undefined) return { kind: 'template-drift' };
  const fits = promptIds.length + tokens.responseIds.length <= contextTokens;
  return fits ? { kind: 'hinted', promptIds } : { kind: 'too-long' };
}

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
