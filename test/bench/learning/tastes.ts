import { hasGreeting, hasList, type Taste } from '../../e2e/demo/taste.ts';

/** A taste with its description, for the table. */
export type BenchTaste = Taste & {
  readonly kind: 'form' | 'length' | 'tone';
  readonly about: string;
};

/** No taste may be met by chance more often than this. */
export const LARGEST_PRIOR = 0.25;

export const sentences = (answer: string): number => answer.trim().match(/[.!?]+(?=\s|$)/g)?.length ?? 0;
const friendlyEnd =
  /\b(?:hope (?:this|that|it) helps|let me know|have a (?:nice|good|great|lovely)|take care|all the best|good luck|enjoy)\b[^.!?]*[.!?]?\s*$/i;
export const endsFriendly = (answer: string): boolean => friendlyEnd.test(answer);

export const bareList: BenchTaste = {
  name: 'bare list',
  kind: 'form',
  about: 'a list with nothing around it: no hello before, no good wishes after',
  complaints: (answer) => {
    const [list, greeting] = [hasList(answer), hasGreeting(answer)];
    if (list && greeting)
      return ['Please skip the greeting.', 'No greeting, please.', 'I do not like being greeted.'];
    if (greeting) return ['A list without a greeting, please.', 'Bullet points without a greeting, please.'];
    if (!list) return ['Please use bullet points.', 'Give me bullet points, please.', 'Use a list, please.'];
    return endsFriendly(answer) ? ['Please skip the closing line.', 'No closing words, please.'] : [];
  },
};

export const oneSentence: BenchTaste = {
  name: 'one sentence',
  kind: 'length',
  about: 'one sentence, and no more',
  complaints: (answer) =>
    sentences(answer) === 1 && !hasList(answer)
      ? []
      : [
          'One short sentence, please.',
          'Just one short sentence, please.',
          'That is too long. One short sentence, please.',
        ],
};

export const sober: BenchTaste = {
  name: 'matter-of-fact',
  kind: 'tone',
  about: 'plain sentences: no hello, no good wishes at the end, nothing listed',
  complaints: (answer) => {
    const faults = [hasGreeting(answer), hasList(answer), endsFriendly(answer)] as const;
    const [greeting, list, wishes] = faults;
    if (answer.trim() !== '' && !faults.includes(true)) return [];
    if (greeting && list)
      return ['No greeting and no lists, please.', 'Please do not greet me, and do not use lists.'];
    if (greeting) return ['Please skip the greeting.', 'No greeting, please. Just answer.'];
    if (list) return ['Please do not use lists, write sentences.', 'No lists, please.'];
    return wishes ? ['Please skip the closing line.', 'No closing words, please.'] : ['That is no answer.'];
  },
};

export const tastes: readonly BenchTaste[] = [bareList, oneSentence, sober];

/** Tastes that claw-nano should not be able to learn, and one whose words displace the content. */
export const unreachable: readonly BenchTaste[] = [
  {
    name: 'poem',
    kind: 'form',
    about: 'a poem, which the model cannot write',
    complaints: () => ['Please write a poem.', 'A poem, please.', 'Write it as a poem, please.'],
  },
  {
    name: 'kind words',
    kind: 'tone',
    about: 'good wishes at the end',
    complaints: (answer) =>
      endsFriendly(answer) ? [] : ['Please end with kind words.', 'End with kind words, please.'],
  },
];
