import type { ToolCall } from '../../../shared/events/chat-message.ts';
import { createStopMatcher } from '../../../shared/policy/stop-strings.ts';
import type { StreamDecoder } from '../../../shared/policy/token-decoder.ts';
import { createReasoningParser, type ReasoningParser } from '../chat/reasoning-parser.ts';
import type { ToolCallParser, ToolCallPiece } from '../chat/tool-call-parser.ts';
import type { CallPart } from './engine.ts';

/** What of an answer can be shown now. */
export type TextPiece = {
  readonly text: string;
  readonly reasoning: string;
  readonly toolCalls: readonly ToolCall[];
  readonly callParts: readonly CallPart[];
};

export type AnswerText = {
  /** `stop`: the stop string that ends it here; `ends`: its one call does. */
  readonly push: (id: number) => TextPiece & { readonly stop: string | undefined; readonly ends: boolean };
  /** The rest, once the last token is in. */
  readonly end: () => TextPiece;
  readonly calledTools: () => boolean;
};

type Options = {
  readonly decoder: StreamDecoder;
  readonly stops: readonly string[];
  /** Marks of reasoning are no marks in an answer of a format. True unless told. */
  readonly reasons?: boolean;
  /** The prompt ends within the model's reasoning. */
  readonly insideReasoning: boolean;
  /** Undefined: the client takes no calls. */
  readonly tools: ToolCallParser | undefined;
};

const noReasoning: ReasoningParser = {
  push: (text) => ({ text, reasoning: '' }),
  flush: () => ({ text: '', reasoning: '' }),
};

/** Ids to text that can be shown: whole characters, no stop strings, reasoning and tool calls apart. */
export function createAnswerText({
  decoder,
  stops,
  reasons = true,
  insideReasoning,
  tools,
}: Options): AnswerText {
  const stopMatcher = createStopMatcher(stops);
  const reasoningParser = reasons ? createReasoningParser(insideReasoning) : noReasoning;
  let called = false;
  const callsOf = ({ toolCalls, callParts = [] }: ToolCallPiece) => {
    called ||= toolCalls.some(isSound);
    return { toolCalls, callParts };
  };
  const parse = (text: string): ToolCallPiece => tools?.push(text) ?? { text, toolCalls: [] };
  const show = (text: string): TextPiece & { readonly ends: boolean } => {
    const { text: said, reasoning } = reasoningParser.push(text);
    const piece = parse(said);
    return { text: piece.text, reasoning, ...callsOf(piece), ends: piece.ends === true };
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
      const said = parse(late.text);
      const rest = tools?.flush() ?? { text: '', toolCalls: [] };
      const [saidCalls, restCalls] = [callsOf(said), callsOf(rest)];
      return {
        text: piece.text + said.text + rest.text,
        reasoning: piece.reasoning + late.reasoning,
        toolCalls: [...piece.toolCalls, ...saidCalls.toolCalls, ...restCalls.toolCalls],
        callParts: [...piece.callParts, ...saidCalls.callParts, ...restCalls.callParts],
      };
    },
    calledTools: () => called,
  };
}

/** One that was cut off has arguments that nobody can read. */
function isSound({ function: { arguments: given } }: ToolCall): boolean {
  try {
    JSON.parse(given);
    return true;
  } catch {
    return false;
  }
}
