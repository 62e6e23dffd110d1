import type { ToolCall } from '../../../shared/events/chat-message.ts';
import { defined } from '../../../shared/lang/defined.ts';
import { parseJson } from '../../../shared/lang/json.ts';
import { createStopMatcher } from '../../../shared/policy/text/stop-strings.ts';
import type { StreamDecoder } from '../../../shared/policy/text/token-decoder.ts';
import type { AnswerChunk, CallPart, ShownToken } from '../generation.ts';
import { createReasoningParser, type ReasoningParser } from './reasoning-parser.ts';
import type { ToolCallParser, ToolCallPiece } from './tool-call-parser.ts';

/** The part of an answer that can be shown now. */
export type TextPiece = {
  readonly text: string;
  readonly reasoning: string;
  readonly toolCalls: readonly ToolCall[];
  readonly callParts: readonly CallPart[];
};

export type AnswerText = {
  /** `stop`: the stop string that ends the answer here; `ends`: its only call ends it. */
  readonly push: (id: number) => TextPiece & { readonly stop: string | undefined; readonly ends: boolean };
  /** The remaining text, after the last token. */
  readonly end: () => TextPiece;
  readonly calledTools: () => boolean;
};

type Options = {
  readonly decoder: StreamDecoder;
  readonly stops: readonly string[];
  /** False if reasoning marks are plain text, as in an answer of a format. Default: true. */
  readonly reasons?: boolean;
  /** The prompt ends inside the model's reasoning. */
  readonly insideReasoning: boolean;
  /** Undefined: the client accepts no tool calls. */
  readonly tools: ToolCallParser | undefined;
};

const noReasoning: ReasoningParser = {
  push: (text) => ({ text, reasoning: '' }),
  flush: () => ({ text: '', reasoning: '' }),
};

/** Turns token ids into text: complete characters, without stop strings, reasoning and calls separated. */
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
    called ||= toolCalls.some(hasValidArguments);
    return { toolCalls, callParts };
  };
  const parse = (text: string): ToolCallPiece => tools?.push(text) ?? { text, toolCalls: [] };
  const show = (text: string): TextPiece & { readonly ends: boolean } => {
    const { text: content, reasoning } = reasoningParser.push(text);
    const piece = parse(content);
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
      const content = parse(late.text);
      const flushed = tools?.flush() ?? { text: '', toolCalls: [] };
      const [calls, lateCalls] = [callsOf(content), callsOf(flushed)];
      return {
        text: piece.text + content.text + flushed.text,
        reasoning: piece.reasoning + late.reasoning,
        toolCalls: [...piece.toolCalls, ...calls.toolCalls, ...lateCalls.toolCalls],
        callParts: [...piece.callParts, ...calls.callParts, ...lateCalls.callParts],
      };
    },
    calledTools: () => called,
  };
}

/** Joins pieces and their tokens into a chunk; undefined if there is nothing to show. */
export function chunkOf(
  pieces: readonly TextPiece[],
  tokens: readonly ShownToken[],
): AnswerChunk | undefined {
  const text = pieces.map((piece) => piece.text).join('');
  const reasoning = pieces.map((piece) => piece.reasoning).join('');
  const toolCalls = pieces.flatMap((piece) => piece.toolCalls);
  const callParts = pieces.flatMap((piece) => piece.callParts);
  if (text === '' && reasoning === '' && toolCalls.length + callParts.length + tokens.length === 0)
    return undefined;
  return {
    text,
    tokens,
    ...defined({
      reasoning: reasoning === '' ? undefined : reasoning,
      toolCalls: toolCalls.length === 0 ? undefined : toolCalls,
      callParts: callParts.length === 0 ? undefined : callParts,
    }),
  };
}

/** The arguments of a truncated call are not valid JSON. */
const hasValidArguments = ({ function: { arguments: json } }: ToolCall): boolean =>
  parseJson(json) !== undefined;
