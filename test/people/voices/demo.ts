import { bareList, oneSentence, sober } from '../../bench/learning/tastes.ts';
import { praise } from '../../e2e/demo/talk.ts';
import type { Voice } from './voice.ts';

/** The phrases of the other benches, which the rules of the judge list. */
export const demo: Voice = {
  about: 'uses the phrases that the rules list',
  complaints: {
    greeting: sober.complaints('Hello! Take good shoes.'),
    list: sober.complaints('- good shoes'),
    closing: sober.complaints('Take good shoes. Take care!'),
    long: oneSentence.complaints('Take good shoes. Take a map.'),
    prose: bareList.complaints('Take good shoes.'),
    content: ['That is no answer.'],
  },
  praise,
};
