export const REASONING_OPENS = '<think>';
export const REASONING_CLOSES = '</think>';

/** Whether a prompt ends with an open `<think>`, as some templates do. */
export const opensReasoning = (promptEnd: string): boolean => promptEnd.trimEnd().endsWith(REASONING_OPENS);

/** A prompt whose answer has no reasoning: an open `<think>` is closed. */
export const closeReasoning = (prompt: string): string =>
  opensReasoning(prompt) ? `${prompt.trimEnd()}\n${REASONING_CLOSES}\n\n` : prompt;

/**
 * An answer without the reasoning at its beginning, whether the answer or its prompt opened it. Empty if the answer
 * ends within its reasoning.
 */
export function withoutReasoning(answer: string): string {
  const end = answer.indexOf(REASONING_CLOSES);
  if (answer.trimStart().startsWith(REASONING_OPENS))
    return end === -1 ? '' : answer.slice(end + REASONING_CLOSES.length).trimStart();
  const isClosed = end !== -1 && !answer.slice(0, end).includes(REASONING_OPENS);
  return isClosed ? answer.slice(end + REASONING_CLOSES.length).trimStart() : answer;
}
