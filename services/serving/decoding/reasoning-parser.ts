import { REASONING_CLOSES as CLOSE, REASONING_OPENS as OPEN } from '../../../shared/policy/text/reasoning.ts';

type ReasoningPiece = { readonly text: string; readonly reasoning: string };

export type ReasoningParser = {
  readonly push: (text: string) => ReasoningPiece;
  /** The text withheld so far. Unclosed reasoning stays reasoning. */
  readonly flush: () => ReasoningPiece;
};

/**
 * Separates `<think>..</think>` from the beginning of an answer, as Qwen 3 writes it, without the empty lines
 * around it. Anywhere else it is text.
 *
 * @param inside the prompt has already opened it
 */
export function createReasoningParser(inside: boolean): ReasoningParser {
  let state: 'start' | 'reasoning' | 'closed' | 'text' = inside ? 'reasoning' : 'start';
  let withheld = '';
  let hasReasoned = false;

  const reason = (part: string): string => {
    const shown = hasReasoned ? part : part.replace(/^\n+/, '');
    hasReasoned ||= shown !== '';
    return shown;
  };
  const take = (): ReasoningPiece => {
    let reasoning = '';
    if (state === 'start') {
      const begun = withheld.trimStart();
      if (OPEN.startsWith(begun)) return { text: '', reasoning };
      state = begun.startsWith(OPEN) ? 'reasoning' : 'text';
      if (state === 'reasoning') withheld = begun.slice(OPEN.length);
    }
    if (state === 'reasoning') {
      const end = withheld.indexOf(CLOSE);
      if (end === -1) {
        const [kept] = possibleEnd.exec(withheld)!;
        reasoning = reason(withheld.slice(0, withheld.length - kept.length));
        withheld = kept;
        return { text: '', reasoning };
      }
      reasoning = reason(withheld.slice(0, end).replace(/\n+$/, ''));
      withheld = withheld.slice(end + CLOSE.length);
      state = 'closed';
    }
    if (state === 'closed') {
      withheld = withheld.replace(/^\n+/, '');
      if (withheld !== '') state = 'text';
    }
    const text = withheld;
    withheld = '';
    return { text, reasoning };
  };
  return {
    push: (part) => {
      withheld += part;
      return take();
    },
    flush: () => {
      const remaining = withheld;
      withheld = '';
      return state === 'reasoning'
        ? { text: '', reasoning: reason(remaining) }
        : { text: remaining, reasoning: '' };
    },
  };
}

/** Text that may become the end of the reasoning: empty lines and a part of the mark. */
const possibleEnd = /\n*(<(\/(t(h(i(n(k)?)?)?)?)?)?)?$/;
