import type { ChatMessage, ToolCall } from '../../../../shared/events/chat-message.ts';
import { parseJson } from '../../../../shared/lang/json.ts';
import type { FinishedAnswer } from '../../answer/answer.ts';
import type { Mark } from '../../answer/mark.ts';
import { cutOf, ignoredOf, type Omission } from '../../answer/mark.ts';
import type { Generated } from '../../generation.ts';

/** Only this server reads the signature, so it proves nothing. */
export const thinkingBlock = (thinking: string, signature: string) => ({
  type: 'thinking',
  thinking,
  signature,
});
export const textBlock = (text: string) => ({ type: 'text', text, citations: null });
export const toolUseBlock = (call: {
  readonly id: string;
  readonly name: string;
  readonly input: object;
}) => ({ type: 'tool_use', ...call });

/** The content of a whole answer. */
export const blocksOf = (
  { content, reasoning_content: reasoning, tool_calls: calls = [] }: ChatMessage,
  signature: string,
): readonly object[] => [
  ...(reasoning ? [thinkingBlock(reasoning, signature)] : []),
  ...(typeof content === 'string' && content !== '' ? [textBlock(content)] : []),
  ...calls.map((call) => toolUseBlock({ id: call.id ?? '', name: call.function.name, input: inputOf(call) })),
];

/** Empty if the arguments of the call are not a JSON object. */
function inputOf({ function: { arguments: text } }: ToolCall): object {
  const input = parseJson(text);
  return typeof input === 'object' && input !== null ? input : {};
}

/** Reports cached prompt tokens separately. */
export const usageOf = ({ promptTokens, completionTokens, cachedPromptTokens = 0 }: Generated['usage']) => ({
  input_tokens: promptTokens - cachedPromptTokens,
  cache_creation_input_tokens: 0,
  cache_read_input_tokens: cachedPromptTokens,
  output_tokens: completionTokens,
});

/** Why the answer ended. An aborted answer is shown as cut short. */
export function stopOf({ finishReason, stopSequence, sampling }: Generated) {
  switch (finishReason) {
    case 'tool_calls':
      return { stop_reason: 'tool_use', stop_sequence: null };
    case 'content_filter':
      return { stop_reason: 'refusal', stop_sequence: null };
    case 'stop':
      return stopSequence === undefined
        ? { stop_reason: 'end_turn', stop_sequence: null }
        : { stop_reason: 'stop_sequence', stop_sequence: stopSequence };
    case 'length':
      return sampling.askedMaxTokens === undefined
        ? { stop_reason: 'max_tokens', stop_sequence: null }
        : { stop_reason: 'model_context_window_exceeded', stop_sequence: null };
    case 'aborted':
      return { stop_reason: 'max_tokens', stop_sequence: null };
  }
}

/** ClawLoop's own fields, as in a chat completion. */
export const markOf = ({ version, choices: [choice] }: FinishedAnswer, ignored: readonly Omission[]) => ({
  clawloop: {
    version,
    recorded: choice!.recorded,
    ...ignoredOf(ignored),
    ...cutOf(choice!.generated),
  } satisfies Mark,
});
