import type { ChatMessage } from '../../shared/events/chat-message.ts';
import { withoutReasoning } from '../../shared/policy/text/reasoning.ts';
import type { LearningEngine, Voice } from './learning-engine.ts';

/**
 * The prompt of a request that the trainer asks. A model that can reason answers it without, since the answer has only a
 * few dozen tokens.
 */
export const requestPrompt = (
  { writePrompt, speech }: Pick<LearningEngine, 'writePrompt' | 'speech'>,
  messages: readonly ChatMessage[],
): readonly number[] =>
  writePrompt({ messages, tools: [], variables: {} }, { reasons: speech?.reasons ?? false });

/** The text of an answer that a person reads: without its reasoning. */
export function readAnswer(
  { read, reasons = false }: Pick<Voice, 'read' | 'reasons'>,
  ids: readonly number[],
): string {
  const text = read(ids);
  return reasons ? text : withoutReasoning(text);
}

const earlier = new WeakMap<LearningEngine, LearningEngine>();

/** The engine as batches under earlier rules were trained with it. The same for each call, since figures are cached by it. */
export function underRules(engine: LearningEngine, rules: number): LearningEngine {
  const { speech } = engine;
  if (rules >= 4 || speech === undefined) return engine;
  const known = earlier.get(engine) ?? { ...engine, speech: { ...speech, reasons: true } };
  earlier.set(engine, known);
  return known;
}
