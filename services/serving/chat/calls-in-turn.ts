import type { AnswerChunk, CallPart } from '../engine/engine.ts';

/** The pieces of an answer, in an order in which nothing stands between the parts of a call. */
export type CallsInTurn = {
  /** What can be told now. */
  readonly next: (chunk: AnswerChunk) => readonly AnswerChunk[];
  /** What still waits when the answer is over. */
  readonly rest: () => readonly AnswerChunk[];
};

/**
 * For APIs whose items or blocks come one after the other: an engine may write several calls side by side.
 * What comes while a call is not whole (a JSON object, or told whole) waits until it is; parts of it that come
 * after that are left out of what is told, and stand in the record.
 */
export function callsInTurn(): CallsInTurn {
  let open: { readonly id: string; text: string } | undefined;
  let waiting: AnswerChunk[] = [];
  let told: AnswerChunk[] = [];

  const place = (piece: AnswerChunk): void => {
    const part = piece.callParts?.[0];
    const whole = piece.toolCalls?.[0];
    if (part !== undefined && part.id === open?.id) {
      open.text += part.arguments;
      told.push(piece);
      if (waiting.length > 0 && isObject(open.text)) goOn();
    } else if (whole !== undefined && whole.id === open?.id) {
      told.push(piece);
      goOn();
    } else if (open !== undefined && !isObject(open.text)) {
      waiting.push(piece);
    } else if (open !== undefined) {
      goOn();
      place(piece);
    } else if (part === undefined) {
      told.push(piece);
    } else if (part.name !== undefined) {
      open = { id: part.id, text: part.arguments };
      told.push(piece);
    }
  };
  /** The open call is over. */
  const goOn = (): void => {
    open = undefined;
    const next = waiting;
    waiting = [];
    next.forEach(place);
  };
  const takeTold = (): readonly AnswerChunk[] => {
    const pieces = told;
    told = [];
    return pieces;
  };
  return {
    next: (chunk) => {
      if (open === undefined && chunk.callParts === undefined) return [chunk];
      piecesOf(chunk).forEach(place);
      return takeTold();
    },
    rest: () => {
      while (waiting.length > 0) goOn();
      return takeTold();
    },
  };
}

const silent = { text: '', tokens: [] };

/** One at a time: thoughts, words, parts of calls, whole calls. */
const piecesOf = ({ text, reasoning = '', callParts = [], toolCalls = [] }: AnswerChunk): AnswerChunk[] => [
  ...(reasoning === '' ? [] : [{ ...silent, reasoning }]),
  ...(text === '' ? [] : [{ ...silent, text }]),
  ...callParts.map((part: CallPart) => ({ ...silent, callParts: [part] })),
  ...toolCalls.map((call) => ({ ...silent, toolCalls: [call] })),
];

/** Cheap where it is not: most parts of a call do not end with a brace. */
function isObject(text: string): boolean {
  if (!text.trimEnd().endsWith('}')) return false;
  try {
    return typeof JSON.parse(text) === 'object';
  } catch {
    return false;
  }
}
