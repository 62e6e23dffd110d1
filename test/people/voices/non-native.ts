import type { Voice } from './voice.ts';

export const nonNative: Voice = {
  about: 'English as a foreign language',
  complaints: {
    greeting: [
      'You must not make hello in the begin of each answer.',
      'Please no more to greet me, is not needed.',
      'I want that you begin directly with the thing.',
      'Why you say always hello? I want only the informations.',
      'The greeting you can let away.',
      'Is better if you start without the hello.',
      'It disturbs me that you welcome me always.',
    ],
    list: [
      'I wish to have this in normal sentences, not with such points.',
      'Please not make a list from it.',
      'Write me this like a text, the points I do not like.',
      'So many lines with points, I prefer if you tell it.',
      'Can you do it without the listing? I must read it loud.',
      'I want sentences and no enumerating.',
      'Make not points, make a text.',
    ],
    closing: [
      'On the end you must not wish me something.',
      'The last sentence is for nothing, please without.',
      'Finish when the answer is finish.',
      'I do not need the nice words in the end.',
      'Please delete always the good wishings.',
    ],
    long: [
      'It is too many text, make one sentence.',
      'I want it more shortly, one sentence only.',
      'So long answer I can not read, please one line.',
      'Say it in only one sentence please, I am not fast reader.',
    ],
  },
  praise: [
    'Yes so is good, thank you.',
    'This answer likes me very much.',
    'Now it is like I want, many thank.',
    'Very well done, I could understand all.',
    'It is perfect so, please always so.',
    'Good work, this was for me useful.',
  ],
};
