import { parseJson } from '../../../shared/lang/json.ts';
import type { AnswerChunk, CallPart } from '../generation.ts';

/** Reorders the pieces of an answer so that nothing stands between the parts of a call. */
type SequentialCalls = {
  /** The pieces that can be sent now. */
  readonly next: (chunk: AnswerChunk) => readonly AnswerChunk[];
  /** The pieces that still wait when the answer ends. */
  readonly rest: () => readonly AnswerChunk[];
};

/**
 * For APIs whose items or blocks follow one another, while an engine may write several calls side by side.
 * Other pieces wait until the open call is complete: its arguments are a JSON object, or the engine sent it
 * whole. Parts of a call that arrive after that are not sent; the record contains them.
 */
export function sequentialCalls(): SequentialCalls {
  let open: { readonly id: string; text: string } | undefined;
  let waiting: AnswerChunk[] = [];
  let ready: AnswerChunk[] = [];

  const place = (piece: AnswerChunk): void => {
    const part = piece.callParts?.[0];
    const whole = piece.toolCalls?.[0];
    if (part !== undefined && part.id === open?.id) {
      open.text += part.arguments;
      ready.push(piece);
      if (waiting.length > 0 && isJsonObject(open.text)) closeCall();
    } else if (whole !== undefined && whole.id === open?.id) {
      ready.push(piece);
      closeCall();
    } else if (open !== undefined && !isJsonObject(open.text)) {
      waiting.push(piece);
    } else if (open !== undefined) {
      closeCall();
      place(piece);
    } else if (part === undefined) {
      ready.push(piece);
    } else if (part.name !== undefined) {
      open = { id: part.id, text: part.arguments };
      ready.push(piece);
    }
  };
  /** Ends the open call and places the pieces that waited for it. */
  const closeCall = (): void => {
    open = undefined;
    const next = waiting;
    waiting = [];
    next.forEach(place);
  };
  const takeReady = (): readonly AnswerChunk[] => {
    const pieces = ready;
    ready = [];
    return pieces;
  };
  return {
    next: (chunk) => {
      if (open === undefined && chunk.callParts === undefined) return [chunk];
      piecesOf(chunk).forEach(place);
      return takeReady();
    },
    rest: () => {
      while (waiting.length > 0) closeCall();
      return takeReady();
    },
  };
}

const empty = { text: '', tokens: [] };

/** Splits a chunk: reasoning, text, each part of a call, each whole call. */
const piecesOf = ({ text, reasoning = '', callParts = [], toolCalls = [] }: AnswerChunk): AnswerChunk[] => [
  ...(reasoning === '' ? [] : [{ ...empty, reasoning }]),
  ...(text === '' ? [] : [{ ...empty, text }]),
  ...callParts.map((part: CallPart) => ({ ...empty, callParts: [part] })),
  ...toolCalls.map((call) => ({ ...empty, toolCalls: [call] })),
];

/** Checks the last character first, since most parts of a call do not end with a brace. */
const isJsonObject = (text: string): boolean =>
  text.trimEnd().endsWith('}') && typeof parseJson(text) === 'object';
