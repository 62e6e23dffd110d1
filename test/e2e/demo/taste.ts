/** A person's wishes for an answer. Shares no code with the judge or with the generator of the training data. */
export type Taste = {
  readonly name: string;
  /** The possible complaints about an answer; none if the answer meets the taste. */
  readonly complaints: (answer: string) => readonly string[];
};

/** The demo's person wants no list and no greeting. */
export type Verdict = { readonly list: boolean; readonly greeting: boolean; readonly met: boolean };

const listLine = /^\s*(?:[-*•]|\d+[.)])\s+/m;
const greetingStart =
  /^\W*(?:hi|hello|hey|good (?:morning|afternoon|evening|day)|greetings|welcome|howdy)\b/i;

export const hasList = (answer: string): boolean => listLine.test(answer);
export const hasGreeting = (answer: string): boolean => greetingStart.test(answer);

export function checkTaste(answer: string): Verdict {
  const list = hasList(answer);
  const greeting = hasGreeting(answer);
  return { list, greeting, met: !list && !greeting && answer.trim() !== '' };
}

const about = {
  list: ['Please do not use lists, write sentences.', 'No lists, please.', 'I do not like lists.'],
  greeting: [
    'Please skip the greeting.',
    'No greeting, please. Just answer.',
    'I do not like being greeted.',
  ],
  both: ['No greeting and no lists, please.', 'Please do not greet me, and do not use lists.'],
};

export const plainAnswer: Taste = {
  name: 'plain',
  complaints: (answer) => {
    const { list, greeting, met } = checkTaste(answer);
    if (met) return [];
    return about[list && greeting ? 'both' : list ? 'list' : 'greeting'];
  },
};
