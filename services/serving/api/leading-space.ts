/** Withholds the leading white space of a streamed answer, which an answer with only tool calls must not show. */
export function withholdLeadingSpace() {
  let withheld = '';
  let hasText = false;
  return {
    /** The text to send now. */
    next: (piece: string): string => {
      withheld += piece;
      if (!hasText && withheld.trim() === '') return '';
      hasText = true;
      const text = withheld;
      withheld = '';
      return text;
    },
    /** White space that was not sent. */
    rest: (): string => withheld,
  };
}
