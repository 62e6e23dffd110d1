const OPEN = '<think>';
const CLOSE = '</think>';

export type ReasoningPiece = { readonly text: string; readonly reasoning: string };

export type ReasoningParser = {
  readonly push: (text: string) => ReasoningPiece;
  /** What was held back at the end. Reasoning that was not closed stays reasoning. */
  readonly flush: () => ReasoningPiece;
};

/** Whether a prompt leaves the answer inside of an open `<think>`, as some templates end it. */
export const opensReasoning = (promptEnd: string): boolean => promptEnd.trimEnd().endsWith(OPEN);

/**
 * Takes `<think>..</think>` off the beginning of an answer, as Qwen 3 writes it, without the empty lines
 * around; anywhere else it is text.
 *
 * @param inside the prompt has opened it already
 */
export function createReasoningParser(inside: boolean): ReasoningParser {
  let state: 'start' | 'reasoning' | 'closed' | 'text' = inside ? 'reasoning' : 'start';
  let held = '';
  let hasReasoned = false;

  const reason = (part: string): string => {
    const shown = hasReasoned ? part : part.replace(/^\n+/, '');
    hasReasoned ||= shown !== '';
    return shown;
  };
  const take = (): ReasoningPiece => {
    let reasoning = '';
    if (state === 'start') {
      const begun = held.trimStart();
      if (OPEN.startsWith(begun)) return { text: '', reasoning };
      state = begun.startsWith(OPEN) ? 'reasoning' : 'text';
      if (state === 'reasoning') held = begun.slice(OPEN.length);
    }
    if (state === 'reasoning') {
      const end = held.indexOf(CLOSE);
      if (end === -1) {
        const [kept] = heldBack.exec(held)!;
        reasoning = reason(held.slice(0, held.length - kept.length));
        held = kept;
        return { text: '', reasoning };
      }
      reasoning = reason(held.slice(0, end).replace(/\n+$/, ''));
      held = held.slice(end + CLOSE.length);
      state = 'closed';
    }
    if (state === 'closed') {
      held = held.replace(/^\n+/, '');
      if (held !== '') state = 'text';
    }
    const text = held;
    held = '';
    return { text, reasoning };
  };
  return {
    push: (part) => {
      held += part;
      return take();
    },
    flush: () => {
      const rest = held;
      held = '';
      return state === 'reasoning' ? { text: '', reasoning: reason(rest) } : { text: rest, reasoning: '' };
    },
  };
}

/** The end of what may still become the end of the reasoning: empty lines, and a part of its mark. */
const heldBack = /\n*(<(\/(t(h(i(n(k)?)?)?)?)?)?)?$/;
