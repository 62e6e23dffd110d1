/**
 * What this person wants of an answer: no list and no greeting. Shares no code with the judge, nor with what
 * wrote the training data.
 */
export type Verdict = { readonly list: boolean; readonly greeting: boolean; readonly met: boolean };

const listLine = /^\s*(?:[-*•]|\d+[.)])\s+/m;
const greetingStart =
  /^\W*(?:hi|hello|hey|good (?:morning|afternoon|evening|day)|greetings|welcome|howdy)\b/i;

export function checkTaste(answer: string): Verdict {
  const list = listLine.test(answer);
  const greeting = greetingStart.test(answer);
  return { list, greeting, met: !list && !greeting && answer.trim() !== '' };
}
