import type { ToolCall } from '../../../shared/events/chat-message.ts';
import { createStopMatcher } from '../../../shared/policy/stop-strings.ts';
import type { StreamDecoder } from '../../../shared/policy/token-decoder.ts';
import { createReasoningParser } from '../chat/reasoning-parser.ts';
import type { ToolCallParser } from '../chat/tool-call-parser.ts';

/** What of an answer can be shown now. */
export type TextPiece = {
  readonly text: string;
  readonly reasoning: string;
  readonly toolCalls: readonly ToolCall[];
};

export type AnswerText = {
  /** `stop`: the stop string that ends it here. */
  readonly push: (id: number) => TextPiece & { readonly stop: string | undefined };
  /** The rest, once the last token is in. */
  readonly end: () => TextPiece;
  readonly calledTools: () => boolean;
};

type Options = {
  readonly decoder: StreamDecoder;
  readonly stops: readonly string[];
  /** The prompt ends within the model's reasoning. */
  readonly insideReasoning: boolean;
  /** Undefined: the client takes no calls. */
  readonly tools: ToolCallParser | undefined;
};

/** Ids to text that can be shown: whole characters, no stop strings, reasoning and tool calls apart. */
export function createAnswerText({ decoder, stops, insideReasoning, tools }: Options): AnswerText {
  const stopMatcher = createStopMatcher(stops);
  const reasoningParser = createReasoningParser(insideReasoning);
  let called = false;
  const show = (text: string): TextPiece => {
    const { text: said, reasoning } = reasoningParser.push(text);
    const piece = tools?.push(said) ?? { text: said, toolCalls: [] };
    called ||= piece.toolCalls.length > 0;
    return { ...piece, reasoning };
  };
  return {
    push: (id) => {
      const { text, stop } = stopMatcher.push(decoder.push(id));
      return { ...show(text), stop };
    },
    end: () => {
      const last = stopMatcher.push(decoder.flush());
      const piece = show(last.text + stopMatcher.flush());
      const late = reasoningParser.flush();
      const said = tools?.push(late.text) ?? { text: late.text, toolCalls: [] };
      const rest = tools?.flush() ?? { text: '', toolCalls: [] };
      const toolCalls = [...piece.toolCalls, ...said.toolCalls, ...rest.toolCalls];
      called ||= toolCalls.length > 0;
      return {
        text: piece.text + said.text + rest.text,
        reasoning: piece.reasoning + late.reasoning,
        toolCalls,
      };
    },
    calledTools: () => called,
  };
}
