import type { ChatMessage, ToolCall } from '../../../shared/events/chat-message.ts';
import type { Finished, Mark } from '../chat/completion.ts';
import { cutIn } from '../chat/cut-mark.ts';
import { ignoredIn, type Omission } from '../chat/omissions.ts';
import type { Generated } from '../engine/engine.ts';

/** Nobody but this server reads it: what a policy thought needs no proof of its origin here. */
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

/** A call that an engine gave with something else than a JSON object has no input. */
function inputOf({ function: { arguments: text } }: ToolCall): object {
  try {
    const input: unknown = JSON.parse(text);
    return typeof input === 'object' && input !== null ? input : {};
  } catch {
    return {};
  }
}

/** What was read from the cache is told apart from the rest of the prompt. */
export const usageOf = ({ promptTokens, completionTokens, cachedPromptTokens = 0 }: Generated['usage']) => ({
  input_tokens: promptTokens - cachedPromptTokens,
  cache_creation_input_tokens: 0,
  cache_read_input_tokens: cachedPromptTokens,
  output_tokens: completionTokens,
});

/** Why the answer ended. Who still reads one that was aborted sees it cut short. */
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

/** Our own mark on an answer, as of a chat. */
export const markOf = ({ version, choices: [choice] }: Finished, ignored: readonly Omission[]) => ({
  clawloop: {
    ...{ version, recorded: choice!.recorded },
    ...ignoredIn(ignored),
    ...cutIn(choice!.generated),
  } satisfies Mark,
});
