import { type HeardWords, hearWords } from './hear-words.ts';
import type { OpenEar } from './open-ear.ts';

/** Where an answer asks something, a "no" replies to it. Characters at its end. */
const END_OF_ANSWER = 200;
const noWord = '(?:no|nope|nah|nein|nee|nö|non|não|nao|不是|不对|不對|不|いや|いいえ|違う)';
/** "No, " or "no no, ": a word such as "no" that a mark separates from the rest. */
const refusal = new RegExp(`^\\s*${noWord}(?:[\\s,]{1,3}${noWord}){0,3}\\s*[,，、.。!！:;…—–-]+\\s*`, 'iu');
/** "No, nothing else" is no complaint, though "nothing else" alone may sound like one: a rejection is plainer. */
const PLAINLY_BAD = 0.92;
const label = /^\s*(?:(?:my )?feedback|note|nota|remarque|hinweis|anmerkung|反馈|意见|感想)\s*[:：]\s*/iu;

/** Whether the end of an answer asks something. */
export const asks = (answer: string): boolean => /[?？]/.test(answer.slice(-END_OF_ANSWER));

/**
 * Hears a person's words. Most messages that begin with "no," reply to a question, and the readers have learned that
 * such messages say nothing about an answer. After an answer that asks nothing, "no" rejects the answer, so what follows
 * is heard on its own as well, and counts if it plainly complains: "No, too long." So is what follows a label.
 */
export function hearBeyondOpening(ear: OpenEar, words: string, isAsked: boolean): HeardWords | undefined {
  const whole = hearWords(ear, words);
  const rest = (isAsked ? words : words.replace(refusal, '')).replace(label, '');
  if (whole === undefined || rest === words) return whole;
  const after = hearWords(ear, rest);
  return after !== undefined && after.heard.bad > Math.max(whole.heard.bad, PLAINLY_BAD) ? after : whole;
}
